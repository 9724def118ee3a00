# SPDX-License-Identifier: Apache-2.0
"""Turns annotation files and image folders into a corpus directory with tokens (`omnibal scan`)."""
