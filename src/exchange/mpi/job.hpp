// Job: the processes that have joined with one communicator, and what has to be freed before MPI ends.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "base/status.hpp"

namespace couplet::exchange {

// Something that needs MPI to be freed. All members free it together.
class Freed {
 public:
  Freed() = default;
  Freed(const Freed&) = delete;
  Freed& operator=(const Freed&) = delete;
  virtual ~Freed() = default;
  // Frees it. Collective, and blocks until all members have called it, or have ended it in another way.
  virtual void free_all() noexcept = 0;
};

class Job {
 public:
  // How the process uses the universe, and so MPI.
  enum class Threads : std::uint8_t { one, several };

  // Collective over `comm`, of which it makes a copy: the user may free it. Members with the same identity can make
  // communicators with each other. `identity`: 0, or a number that all members have agreed on already.
  static Result<std::shared_ptr<Job>> open(MPI_Comm comm, Threads threads, std::uint64_t identity = 0);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] std::uint64_t identity() const noexcept { return identity_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  // "Open MPI v4.1.4, ..."
  [[nodiscard]] const std::string& library() const noexcept { return library_; }
  [[nodiscard]] MPI_Comm comm() const noexcept;
  // Returns unsupported, with the reason, if this thread may not call MPI, or not in this universe.
  [[nodiscard]] Status check_thread() const;

  // Keeps it until forget, or frees it when MPI_Finalize is called. REQUIRES: members of several Freed keep them in the
  // same order, which is so if their making is collective.
  void keep(std::shared_ptr<Freed> freed);
  void forget(const Freed* freed) noexcept;

 private:
  // What the attribute of MPI_COMM_SELF refers to, which MPI_Finalize deletes before everything else.
  struct Kept {
    MPI_Comm comm = MPI_COMM_NULL;
    std::list<std::shared_ptr<Freed>> freed;
    bool is_over = false;  // MPI_Finalize was called, or everything was freed before
    void free_all() noexcept;
  };
  Job() = default;
  static int delete_attribute(MPI_Comm self, int key, void* value, void* extra) noexcept;

  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  int key_ = MPI_KEYVAL_INVALID;
  std::uint64_t identity_ = 0;
  int rank_ = 0;
  std::string library_;
  Threads threads_ = Threads::one;
};

}  // namespace couplet::exchange
