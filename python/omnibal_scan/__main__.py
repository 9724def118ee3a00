# SPDX-License-Identifier: Apache-2.0
import sys

from omnibal_scan.command import main

sys.exit(main())
