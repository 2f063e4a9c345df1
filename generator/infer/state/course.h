// Decides how a run of the kernel continues: whether it goes on, ends with a refusal, or is done
// again with more loops unrolled.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clang/AST/Stmt.h"
#include "generator/infer/source/hidden_stores.h"
#include "generator/infer/source/names.h"
#include "generator/infer/state/effects.h"
#include "generator/infer/state/frames.h"

namespace tilepost::inference {

// The state that one run of a kernel passes on to the next run.
struct Unrolling {
  std::set<const clang::Stmt*> loops;  // the loops to unroll
  std::set<const clang::Stmt*> tried;  // the loops that could not be unrolled
  // A place where blocks may share work, if a block ever gets there. It is the reason in the
  // message if the kernel is refused because following it takes too long.
  std::optional<SharedWork> shared_work;
  // For each loop that is unrolled to see which threads meet, the place where they meet.
  std::map<const clang::Stmt*, clang::SourceLocation> meetings;
};

class Course {
 public:
  Course(const Nodes& nodes, const Frames& frames, Unrolling& unrolling)
      : nodes_(nodes), frames_(frames), unrolling_(unrolling) {}

  void complain(Where where, const std::string& text, Where note_at = {},
                const std::string& note = "");
  const std::vector<Complaint>& complaints() const { return complaints_; }
  // Whether the kernel must be run again.
  bool restarts() const { return restart_; }
  // Whether nothing more is to be run: there is a complaint, or the kernel must be run again.
  bool stopped() const { return restart_ || !complaints_.empty(); }

  // A *trial* is a turn of a loop in which complaints are not yet certain. It records only whether
  // there was a complaint.
  struct Trial {
    bool within_another;
    bool complained_before;
  };
  Trial begin_trial();
  // Whether the complaints of the trial must now be reported: it has had some, and it is not inside
  // another trial.
  bool must_say_why(const Trial& trial) const { return !trial.within_another && complained_; }
  // Makes all further complaints of the trial certain.
  void be_certain() { trial_ = false; }
  void end_trial(const Trial& trial);
  // Makes complaints certain during the life of the object.
  class Certainly {
   public:
    explicit Certainly(Course& course) : course_(course), was_trial_(course.trial_) {
      course_.trial_ = false;
    }
    Certainly(const Certainly&) = delete;
    Certainly& operator=(const Certainly&) = delete;
    ~Certainly() { course_.trial_ = was_trial_; }

   private:
    Course& course_;
    bool was_trial_;
  };

  // Asks for another run, with those loops unrolled that make the node's value unknown. `meeting`:
  // the place where threads meet, if the node decides which threads do.
  void need_loops_of(NodeId node, Where meeting = {});
  // Asks for another run with this loop unrolled.
  void need(const clang::Stmt* loop);
  // Whether the loop is to be unrolled in this run.
  bool unrolls(const clang::Stmt* loop) const;
  // Whether the loop could not be unrolled.
  bool was_tried(const clang::Stmt* loop) const { return unrolling_.tried.count(loop) != 0; }
  // Asks for another run in which this loop, which could not be unrolled, is passed over.
  void give_up(const clang::Stmt* loop);
  // The place where threads meet, if the loop is unrolled to see which threads do.
  std::optional<Where> meeting_of(const clang::Stmt* loop) const;
  const std::optional<SharedWork>& shared_work() const { return unrolling_.shared_work; }

 private:
  const Nodes& nodes_;
  const Frames& frames_;
  Unrolling& unrolling_;
  std::vector<Complaint> complaints_;
  bool restart_ = false;
  bool trial_ = false;       // whether complaints are not yet certain
  bool complained_ = false;  // whether there was a complaint that is not yet certain
};

}  // namespace tilepost::inference
