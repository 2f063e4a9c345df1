#include "generator/spec/schedule/schedule_fields.h"

#include "tilepost/plan_enums.h"

namespace tilepost {
namespace {

constexpr int64_t kMaxWaves = int64_t{1} << 20;  // 1024 groups of this many waves fit an int
constexpr int64_t kClusters[] = {1, 2, 4};

const Field kFields[] = {
    {.path = "schedule",
     .kind = FieldKind::section,
     .default_text = "auto",
     .description = "how the tiles are computed and sent; the planner chooses what is not given",
     .store = [](Spec& s, const FieldValue& r) { s.schedule.where = r.where; }},
    {.path = "schedule.tile",
     .kind = FieldKind::integers,
     .min = 16,
     .max = 512,
     .min_items = 2,
     .max_items = 2,
     .default_text = "auto",
     .description = "rows and columns of a tile",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.tile = {r.integers, r.where};
         }},
    {.path = "schedule.stages",
     .kind = FieldKind::integer,
     .min = 2,
     .max = 8,
     .default_text = "auto",
     .description = "depth of the pipeline over k",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.stages = {r.integer, r.where};
         }},
    {.path = "schedule.cluster",
     .kind = FieldKind::integer,
     .min = 1,
     .max = 4,
     .values = kClusters,
     .default_text = "auto",
     .description = "CTAs of a cluster, which share the tiles of B by multicast",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.cluster = {r.integer, r.where};
         }},
    {.path = "schedule.layout",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_layout_t>(),
     .default_text = "auto",
     .description = "where finished tiles go: row panels of a row-major output, or tiles in slot "
                    "order",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.layout = {choice_or_auto<tilepost_layout_t>(r), r.where};
         }},
    {.path = "schedule.groups",
     .kind = FieldKind::integers,
     .min = 1,
     .max = kMaxWaves,
     .min_items = 1,
     .max_items = 1024,
     .default_text = "auto",
     .description = "waves in each group; a group is sent by one collective",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.groups = {r.integers, r.where};
         }},
    {.path = "schedule.comm_sms",
     .kind = FieldKind::integer,
     .min = 1,
     .max = 64,
     .default_text = "auto",
     .description = "SMs kept free for the collective: its greatest number of CTAs",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.comm_sms = {r.integer, r.where};
         }},
    {.path = "schedule.lanes",
     .kind = FieldKind::integer,
     .min = 1,
     .max = 4,
     .default_text = "auto",
     .description = "streams, and for NCCL communicators, that take turns at the groups, so that "
                    "what is done for one overlaps with the next",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.lanes = {r.integer, r.where};
         }},
    {.path = "schedule.sms",
     .kind = FieldKind::integer,
     .min = 2,
     .max = 1024,
     .default_text = "auto",
     .description = "SMs of the GPU planned for; host target: worker threads",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.sms = {r.integer, r.where};
         }},
    {.path = "schedule.kernels",
     .kind = FieldKind::integer,
     .min = 1,
     .max = TILEPOST_MOST_RANGES,
     .default_text = "auto",
     .description = "any m: at most so many kernels, each with a plan of its own for a range of m",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.kernels = {r.integer, r.where};
         }},
    {.path = "schedule.wait",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_wait_t>(),
     .default_text = "auto",
     .description = "how the communication stream waits for a group: a polling kernel or a stream "
                    "memory operation",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.wait = {choice_or_auto<tilepost_wait_t>(r), r.where};
         }},
    {.path = "schedule.sum",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_sum_t>(),
     .default_text = "auto",
     .description = "transport peer: the ranks' parts kept side by side and summed in fp32 in the "
                    "order of ranks, or added to one another as they arrive",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.sum = {choice_or_auto<tilepost_sum_t>(r), r.where};
         }},
    {.path = "schedule.shots",
     .kind = FieldKind::word,
     .choices = spellings<tilepost_shots_t>(),
     .default_text = "auto",
     .description = "transport peer_tiles: every rank stores its tiles with all ranks, who all add "
                    "them up, or with one rank, which stores the sums with all others; lines: the "
                    "former, with the flag in the data",
     .store =
         [](Spec& s, const FieldValue& r) {
           s.schedule.shots = {choice_or_auto<tilepost_shots_t>(r), r.where};
         }},
};

}  // namespace

std::span<const Field> schedule_fields() {
  return kFields;
}

}  // namespace tilepost
