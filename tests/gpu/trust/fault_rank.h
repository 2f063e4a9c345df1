// A rank of faults.cpp, which obeys its parent's orders. Each gets one answer:
//
//   id                       'id <hex>'
//   join <hex>               makes communicator, operation and graph:     'ok'
//   check <mode> <n> <seed>  n checked runs, each waited for:             'ok', 'wrong …'
//   load <mode> <n> <s>      up to n runs, for s seconds, not waited for: 'error <s> <what>',
//   'fine' free                     destroys all that join made:                 'ok' leave exit(0)
//   with all of it alive:                none quit                     returns from main: none
//
// The mode is eager or graph. A status that is an error is answered as 'error <seconds> <name>:
// <text>' by each of them. SIGUSR1 ends the process with _exit(0).
#pragma once

namespace gpu_test {

// The words of the command line behind '--rank': rank, device, program, deadline.
int run_fault_rank(int argc, char** argv);

}  // namespace gpu_test
