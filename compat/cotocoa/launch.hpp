// Finds out which processes are in this MPI job, and where the job's hub is. In one MPMD job the first rank starts the
// hub. Its secret is sent over MPI_COMM_WORLD and is in no file. If COUPLET_HUB is set, the job is one of several and
// joins that hub. The session calls it; it calls MPI and common/.
// Invariant: the hub ends when the universe has ended, and when the process that started it is gone for any reason.
// Tests: tests/compat/cotocoa.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "hub_process.hpp"

namespace ctca {

enum class Role : int { requester = 0, coupler = 1, worker = 2 };
[[nodiscard]] const char* role_name(Role role) noexcept;

// The role and numbers that a process gives at init.
struct Self {
  int role = 0;
  int id = 0;          // worker: its program id
  int group_size = 0;  // worker: procspercomm
};

// A program of this MPI job: all ranks that gave the same role and numbers.
struct JobProgram {
  Role role = Role::requester;
  int id = 0;
  int group_size = 1;
  int size = 0;
  int first_world_rank = 0;
  [[nodiscard]] std::string name() const;  // the name by which the hub knows it
};

class Launch {
 public:
  // Finds the programs of this job, in the order requester, coupler, workers by id. Collective over MPI_COMM_WORLD.
  void meet(const char* function, const Self& self);
  // Finds the universe's hub and secret for couplet_join. They are empty if the environment gives them. Collective.
  void find_hub(const char* function);
  // Waits on the first rank until the hub, if this process has started it, finds that the universe has ended.
  void end_hub() { hub_process_.wait_for_end(-1); }

  [[nodiscard]] const std::vector<JobProgram>& programs() const noexcept { return programs_; }
  [[nodiscard]] std::size_t own_program() const noexcept { return own_; }
  [[nodiscard]] const std::string& hub() const noexcept { return hub_; }
  [[nodiscard]] std::string secret_file() const;
  // Returns the name with which to join.
  [[nodiscard]] std::string join_name() const;

 private:
  void check_programs(const char* function) const;
  void object(const char* function, const JobProgram& program, const std::string& text) const;
  void start_hub(bool one_host);
  void keep_secret(const char* function, const char* digits);

  int world_rank_ = 0;
  std::vector<JobProgram> programs_;
  std::size_t own_ = 0;
  std::string hub_;
  compat::OwnedDescriptor secret_;  // memory that holds the secret
  compat::HubProcess hub_process_;
};

}  // namespace ctca
