# SPDX-License-Identifier: Apache-2.0
import sys

from omnibal_tensorboard.command import main

sys.exit(main())
