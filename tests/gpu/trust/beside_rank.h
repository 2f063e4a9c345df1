// A rank of beside.cpp, which obeys its parent's orders. Each order gets answers:
//
//   id                   'id <hex>'
//   pair <hex>           two operations on two streams. It answers 'round <n>' now and then. Its
//                        last answer is 'fine', 'error <round> <program> <what>' or 'wrong …'.
//   foreign <hex> <hex>  one operation beside another communicator's AllReduce. It gives the
//                        answers of 'pair'.
//   quit                 returns from main
#pragma once

namespace gpu_test {

// The words of the command line behind '--rank': rank, device, programs, rounds, deadline, delay,
// megabytes, check-every, seed.
int run_beside_rank(int argc, char** argv);

}  // namespace gpu_test
