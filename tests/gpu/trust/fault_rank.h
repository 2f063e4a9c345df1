// A rank of faults.cpp, which obeys its parent's orders. Each order gets one answer:
//
//   id                       'id <hex>'
//   join <hex>               makes communicator, operation and graph: 'ok'
//   check <mode> <n> <seed>  makes n checked runs, and waits for each: 'ok' or 'wrong …'
//   load <mode> <n> <s>      makes up to n runs for s seconds, and does not wait for each:
//                            'error <s> <what>' or 'fine …'
//   free                     destroys all that join has made: 'ok'
//   leave                    calls exit(0) while all that join has made is alive: no answer
//   quit                     returns from main: no answer
//
// The mode is eager or graph. If a status is an error, the answer to any order is 'error <seconds>
// <name>: <text>'. SIGUSR1 ends the process with _exit(0).
#pragma once

namespace gpu_test {

// The words of the command line behind '--rank': rank, device, program, deadline, and what NCCL is
// to take for this host, or nothing.
int run_fault_rank(int argc, char** argv);

}  // namespace gpu_test
