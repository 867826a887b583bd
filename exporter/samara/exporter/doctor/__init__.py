# SPDX-License-Identifier: Apache-2.0
"""Find everything that keeps a model from running, or that its author should know."""
