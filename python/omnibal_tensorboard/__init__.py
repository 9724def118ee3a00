# SPDX-License-Identifier: Apache-2.0
"""The log of omnibal-train as events that TensorBoard opens (and W&B: `wandb sync --sync-tensorboard`)."""
