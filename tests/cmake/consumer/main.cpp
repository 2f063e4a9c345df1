// Three generated programs in one executable, each with the shape it was asked for.
#include <cstdio>
#include <cstring>

#include "bare.h"
#include "small.h"
#include "wide.h"

static_assert(tilepost_gen_small::kM == 64 && tilepost_gen_small::kK == 32 &&
              tilepost_gen_small::kRanks == 2);
static_assert(tilepost_gen_bare::kN == tilepost_gen_small::kN);
static_assert(tilepost_gen_wide::kN == 96 && tilepost_gen_wide::kRanks == 3);

int main() {
  const tilepost_program_t* programs[] = {small_program(), wide_program(), bare_program()};
  const char* names[] = {"small", "wide", "bare"};
  for (int i = 0; i < 3; ++i)
    if (std::strcmp(programs[i]->name, names[i]) != 0 || programs[i]->num_plans != 1) return 1;
  std::printf("%s\n", PLANS);
}
