#include "runtime/core/run_terms.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "runtime/schedule/run_map.h"

namespace tilepost {
namespace {

std::string text_of(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, hash);
  return text;
}

std::string call_of(const RunTerms& terms) {
  const char* names[] = {"run ", "route ", "registration ", "set "};
  return names[static_cast<int>(terms.call)] + std::to_string(terms.number) + " of '" +
         terms.program + "'";
}

// A text such as "rank 1 is at run 3 of 'attn_out', its operation 2".
std::string place_of(int rank, const RunTerms& terms) {
  return "rank " + std::to_string(rank) + " is at " + call_of(terms) + ", its operation " +
         std::to_string(terms.operation);
}

// A text such as "m is 104 on rank 1 and 100 on rank 0".
std::string values(const char* name, int rank, const std::string& value, int other,
                   const std::string& other_value) {
  return std::string(name) + " is " + value + " on rank " + std::to_string(rank) + " and " +
         other_value + " on rank " + std::to_string(other);
}

// A text such as "rank 1 runs in sequence and rank 0 overlaps".
std::string one_that_overlaps(int rank, const RunTerms& terms, int other) {
  const auto in_words = [](int of, bool overlaps) {
    return "rank " + std::to_string(of) + (overlaps ? " overlaps" : " runs in sequence");
  };
  return in_words(rank, terms.overlaps) + " and " + in_words(other, !terms.overlaps);
}

std::string output_in_words(uint32_t number) {
  return number == 0 ? "no registered buffer" : "registered buffer " + std::to_string(number);
}

}  // namespace

RunTerms terms_of_run(const char* program, uint64_t operation, const tilepost_plan_t& plan,
                      uint64_t plan_hash, uint64_t number, const RunMap& run) {
  return {program, operation,       plan_hash,         Meeting::run, number, is_routed(plan),
          run.m,   plan.any_m != 0, run.schedule_hash, run.overlaps, 0};
}

std::string name_of(const RunTerms& terms) {
  const bool says_m = terms.call == Meeting::run && !terms.routed && terms.any_m;
  return call_of(terms) + (says_m ? " with m = " + std::to_string(terms.m) : "");
}

std::string difference(int rank, const RunTerms& terms, int other, const RunTerms& other_terms) {
  if (terms.operation != other_terms.operation || terms.call != other_terms.call ||
      std::strcmp(terms.program, other_terms.program) != 0 || terms.number != other_terms.number)
    return place_of(rank, terms) + ", " + place_of(other, other_terms) + kSameOrder;
  if (terms.plan != other_terms.plan)
    return call_of(terms) + ": " + plan_difference(rank, terms.plan, other, other_terms.plan);
  const std::string text = run_difference(rank, terms, other, other_terms);
  return text.empty() ? text : call_of(terms) + ": " + text;
}

std::string run_difference(int rank, const RunTerms& terms, int other,
                           const RunTerms& other_terms) {
  const bool one_overlaps = terms.overlaps != other_terms.overlaps;
  const std::string overlap = one_overlaps ? one_that_overlaps(rank, terms, other) : "";
  if (!terms.routed && terms.m != other_terms.m)
    return values("m", rank, std::to_string(terms.m), other, std::to_string(other_terms.m)) +
           (one_overlaps ? ", where " + overlap : "") + "; pass the same m on every rank";
  const char* way_out = terms.routed ? "; set the route again on every rank"
                                     : "; run the same version of tilepost on every rank";
  if (one_overlaps) return overlap + way_out;
  if (terms.schedule != other_terms.schedule)
    return values(terms.routed ? "the hash of the route" : "the hash of the schedule", rank,
                  text_of(terms.schedule), other, text_of(other_terms.schedule)) +
           way_out;
  if (terms.output == other_terms.output) return {};
  return values("out", rank, output_in_words(terms.output), other,
                output_in_words(other_terms.output)) +
         "; pass the same one on every rank, or none";
}

std::string plan_difference(int rank, uint64_t plan_hash, int other, uint64_t other_plan_hash) {
  return "rank " + std::to_string(rank) + "'s plan is not that of rank " + std::to_string(other) +
         " (hashes " + text_of(plan_hash) + " and " + text_of(other_plan_hash) +
         "); make the operation of the same generated code on all ranks";
}

}  // namespace tilepost
