#!/usr/bin/env bash
# For scripts that run the tool where there is neither a GPU nor CUDA: stand-ins for the driver, NVML, nvcc and the
# libraries, in the folder fake/. To be sourced.
#
#   make_stand_ins   makes them. What nvcc links is a copy of fake/harness, which the caller writes. Fails where there is
#                    no C compiler
#   $stand_ins       words before a command that shall meet them: "${stand_ins[@]}" tilepost bench …
#
# They read from the environment: GPUS, how many there are; CHIP, their name, none if it is unset; REACH, 0 if they do not
# reach each other's memory; USERS, how many processes compute on GPU BUSY, on each if that is unset.

make_stand_ins() {
  mkdir -p fake/bin fake/include fake/lib
  touch fake/include/nccl.h fake/lib/libnccl.so fake/lib/libcublasLt.so
  cat >fake/driver.c <<'C'
#include <stdlib.h>
#include <string.h>
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int* count) { return *count = atoi(getenv("GPUS")), 0; }
int cuDeviceGet(int* device, int number) { return *device = number, 0; }
int cuDeviceGetName(char* name, int length, int device) {
  return getenv("CHIP") == NULL ? 1 : (strcpy(name, getenv("CHIP")), 0);
}
int cuDeviceGetPCIBusId(char* id, int length, int device) { return id[0] = '0' + device, id[1] = 0, 0; }
int cuDeviceCanAccessPeer(int* reaches, int device, int peer) {
  return *reaches = getenv("REACH") == NULL || atoi(getenv("REACH")) != 0, 0;
}
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return *value = attribute == 75 ? 9 : attribute == 16 ? 132 : 0, 0;
}
C
  cat >fake/nvml.c <<'C'
#include <stdlib.h>
struct process { unsigned pid; unsigned long long bytes; unsigned instance, compute; };
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) { return *device = (void*)(long)*id, 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process* list) {
  const char *users = getenv("USERS"), *busy = getenv("BUSY");
  *count = users != NULL && (busy == NULL || *busy == (long)device) ? atoi(users) : 0;
  for (unsigned i = 0; i < *count; ++i) list[i].pid = 4711 + i;
  return 0;
}
C
  cat >fake/bin/nvcc <<'SH'
#!/bin/sh
compile=
while [ $# -gt 0 ]; do
  case $1 in
    -c) compile=yes ;;
    -o) shift; output=$1 ;;
  esac
  shift
done
if [ -n "$compile" ]; then
  : >"$output"
else
  cp "$(dirname "$0")/../harness" "$output"
  chmod +x "$output"
fi
SH
  chmod +x fake/bin/nvcc
  # shellcheck disable=SC2034  # callers use it
  stand_ins=(env "LD_LIBRARY_PATH=$PWD/fake/lib" "CUDACXX=$PWD/fake/bin/nvcc" "NCCL_ROOT=$PWD/fake")
  cc -shared -fPIC -w -o fake/lib/libcuda.so.1 fake/driver.c &&
    cc -shared -fPIC -w -o fake/lib/libnvidia-ml.so.1 fake/nvml.c
}
