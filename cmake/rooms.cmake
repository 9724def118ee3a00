# SPDX-License-Identifier: Apache-2.0
# The rooms along the flow, lowest first (docs/flow.md). tests/house/check_rooms.py proves that a
# room includes only lower ones.
set(OMNIBAL_ROOMS
  base codec corpus model cluster cost metrics
  pack steps partition recompute schedule joint simulate plan verify)
