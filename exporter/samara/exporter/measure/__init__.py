# SPDX-License-Identifier: Apache-2.0
"""Run models and measure them: inputs, one run, latency, comparisons, choices, needs."""
