# SPDX-License-Identifier: Apache-2.0
"""Everything ahead of time: turning a model into one `.samara` file."""
