# SPDX-License-Identifier: Apache-2.0
"""Running models and measuring them: feeds, one run, latency, comparisons, choices, needs."""
