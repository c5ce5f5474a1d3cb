// What a process of a world does with tasks: it submits, dispatches or does them.
#pragma once

#include <couplet/couplet.h>

#include "history.hpp"

namespace world {

class TaskPart {
 public:
  TaskPart(const Plan& plan, Life& life) : plan_(plan), life_(life) {}
  // Carries out open_tasks, submit, work or close_tasks; another action does nothing.
  void carry_out(couplet_universe* universe, const Action& action);

 private:
  void open(couplet_universe* universe, const Action& action);
  void submit(const Action& action);
  void wait(couplet_task* task, const Action& action, std::uint64_t number);
  void work(couplet_universe* universe, const Action& action);
  int work_once(const Action& action);
  void note_task(Call& call, const couplet_task_info& info) const;
  void close();

  const Plan& plan_;
  Life& life_;
  couplet_tasks* tasks_ = nullptr;
  Action opened_;
  std::uint64_t submitted_ = 0;
};

}  // namespace world
