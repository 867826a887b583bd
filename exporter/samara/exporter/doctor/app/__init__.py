# SPDX-License-Identifier: Apache-2.0
"""Whether a built app, or a package for apps, will run on devices: what is inside, read and not run."""
