# SPDX-License-Identifier: Apache-2.0
"""What is in a file, in a session and in the op table: reports as text, JSON and pages."""
