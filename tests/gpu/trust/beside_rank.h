// A rank of beside.cpp, which obeys its parent's orders. Each gets answers:
//
//   id                   'id <hex>'
//   pair <hex>           two operations on two streams:     'round <n>' now and then, then 'fine'
//   or
//                        'error <round> <program> <what>', 'wrong …'
//   foreign <hex> <hex>  one beside another communicator's AllReduce: the same
//   quit                 returns from main
#pragma once

namespace gpu_test {

// The words of the command line behind '--rank': rank, device, programs, rounds, deadline, delay,
// megabytes, check-every, seed.
int run_beside_rank(int argc, char** argv);

}  // namespace gpu_test
