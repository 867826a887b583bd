# SPDX-License-Identifier: Apache-2.0
"""Text of language models: tokenizer.json compiled to the table that the runtime reads."""
