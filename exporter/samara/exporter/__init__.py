# SPDX-License-Identifier: Apache-2.0
"""Everything that happens ahead of time: from a model to one `.samara` file."""
