// SPDX-License-Identifier: Apache-2.0
//
// What the NCCL backend calls of CUDA's runtime, declared alone: enough for -fsyntax-only where no
// CUDA is installed.
//
//   g++ -fsyntax-only -I tests/runtime/nccl/declarations runtime/nccl/channel.cpp
//   typedef struct CUevent_st* cudaEvent_t;   // as the real one
//   ctest -R runtime.nccl.syntax
//
// Not for linking: nothing here is defined.
#pragma once

enum cudaError_t { cudaSuccess = 0, cudaErrorNotReady = 600 };
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2;

cudaError_t cudaSetDevice(int device);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
const char* cudaGetErrorString(cudaError_t error);
