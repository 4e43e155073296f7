#!/usr/bin/env python3
"""A training job that profiles itself, small enough for any machine.

    mpirun -np 4 rollcall run -o OUT -- python3 train.py [--late RANK [--by MS]]

Each rank trains the same model on data of its own, with the gloo backend on
CPUs.  RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are from `rollcall run`
or from torchrun.  The rank of --late sleeps 30 ms, or MS, in each step.
"""
import argparse
import os
import time

import torch
from torch import distributed, nn, profiler

parser = argparse.ArgumentParser()
parser.add_argument("--late", type=int, metavar="RANK")
parser.add_argument("--by", type=float, metavar="MS", default=30)
parser.add_argument("--steps", type=int, default=16)
options = parser.parse_args()

distributed.init_process_group("gloo")
torch.set_num_threads(1)
rank = distributed.get_rank()
model = nn.parallel.DistributedDataParallel(
    nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss = nn.CrossEntropyLoss()

# each rank writes into a directory of its own
where = os.environ.get("ROLLCALL_CAPTURE_DIR", f"profile/rank{rank}")
with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=0, warmup=1, active=options.steps),
        on_trace_ready=profiler.tensorboard_trace_handler(where)) as profile:
    for _ in range(options.steps + 1):
        optimizer.zero_grad()
        output = model(torch.randn(32, 256))
        if rank == options.late:
            time.sleep(options.by / 1000)
        loss(output, torch.randint(10, (32,))).backward()
        optimizer.step()
        profile.step()
distributed.destroy_process_group()
