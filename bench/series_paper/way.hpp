// Ways of handing each step of an array from one process to another. All run the same evaluation: process 0 fills the
// array and hands it over, process 1 takes the box of each step. A way is made on both processes (collectively) and
// used for many runs, each with some steps. Between two runs everything has been taken.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/series/measure.hpp"

namespace couplet::bench {

// The series that is in the window of the job, by its setting.
inline constexpr const char* window_series = "etawindow";

struct Setting {
  int rank = 0;             // 0 writes, 1 reads
  std::uint64_t slots = 0;  // for the ways with a buffer
  // There are fewer slots than steps: the writer waits for the reader, and nothing is lost.
  bool waits = false;
  // The two processes are on different nodes, so that they share no memory.
  bool apart = false;
  std::byte* field = nullptr;
};

class Way {
 public:
  Way(std::string name, const Setting& setting) : setting_(setting), name_(std::move(name)) {}
  virtual ~Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }

  // Process 0: returns the memory in which to fill the next step.
  virtual std::byte* begin() { return setting_.field; }
  // Process 0: says that it is filled.
  virtual void end() = 0;

  // Process 1: waits until at least one step is there, and returns how many may be taken at once.
  virtual std::uint64_t wait() = 0;
  // Process 1: takes the boxes of the next `count` steps; count is at most what wait() returned.
  virtual void take(std::uint64_t count, std::byte* out) = 0;

 protected:
  const Setting& setting_;

 private:
  std::string name_;
};

using Ways = std::vector<std::unique_ptr<Way>>;

void add_mapped_ways(const Setting& setting, couplet_universe* universe, Ways& ways);
void add_mpi_ways(const Setting& setting, Ways& ways);

}  // namespace couplet::bench
