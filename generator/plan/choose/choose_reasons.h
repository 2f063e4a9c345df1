// Why the planner chose what it chose: the lines that explain prints last.
#pragma once

#include <vector>

#include "generator/plan/choose/candidates.h"

namespace tilepost {

// Transport, tile and budget of the chosen candidate, each with what the next best would take.
// `overlap`, `sequence`: all that were compared.
void explain_choice(Draft& draft, const std::vector<Candidate>& overlap,
                    const std::vector<Candidate>& sequence, const Candidate& chosen);

// Why so many groups; `finest`: the same candidate with the groups that end first.
void explain_groups(Draft& draft, const Candidate& finest, const Candidate& chosen);

}  // namespace tilepost
