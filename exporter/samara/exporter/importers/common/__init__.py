# SPDX-License-Identifier: Apache-2.0
"""What importers of several formats share."""
