"""One reading of every GPU with pynvml and nothing else: what `check` is measured against."""

import pynvml

pynvml.nvmlInit()
for index in range(pynvml.nvmlDeviceGetCount()):
    device = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = pynvml.nvmlDeviceGetMemoryInfo(device, version=pynvml.nvmlMemory_v2)
    utilization = pynvml.nvmlDeviceGetUtilizationRates(device).gpu
    listed = pynvml.nvmlDeviceGetComputeRunningProcesses(device)
    listed += pynvml.nvmlDeviceGetGraphicsRunningProcesses(device)
    used_mib, total_mib = memory.used >> 20, memory.total >> 20
    print(f"{index}, {used_mib} MiB, {total_mib} MiB, {utilization} %, {len(listed)}")
pynvml.nvmlShutdown()
