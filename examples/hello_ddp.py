#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shortest DistributedDataParallel job: banyan run -n 4 python3 examples/hello_ddp.py, or torchrun --nproc-per-node 4.
With torchrun, where Banyan is not installed: PYTHONPATH=bindings/python."""
import banyan.torch
import torch
import torch.distributed as dist

dist.init_process_group("banyan")
torch.manual_seed(dist.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
banyan.torch.schedule(model, measure_ms=100)  # schedules gradients for this network
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    x = torch.randn(64, 8)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"rank {dist.get_rank()}: loss {loss.item():.3f}, weights {model.module.weight.detach().mean():.3f}")
dist.destroy_process_group()
