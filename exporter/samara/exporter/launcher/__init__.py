# SPDX-License-Identifier: Apache-2.0
"""`samara launch`: starts the ranks of a training run by mpiexec. It imports neither numpy nor the front end."""
