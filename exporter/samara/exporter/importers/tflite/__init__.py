# SPDX-License-Identifier: Apache-2.0
"""The TFLite importer: one function per builtin operator, grouped by family."""
