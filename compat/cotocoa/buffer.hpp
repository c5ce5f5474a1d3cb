// The time-series buffer as a series: each requester rank writes its box of every step, each worker rank reads its own box.
// A read is collective over the worker's group, so that all its ranks get the same step with the same call. One read of the
// series takes all steps that are there; the calls that follow hand them out one by one.
// With method wait the workers hold the series, so that nothing is lost: the init ends when all have opened it. With method
// overwrite they follow, and get torn steps with their mark.
// Above: the functions of ctca.h. Below: Couplet's series. Tests: tests/compat/cotocoa/test_buffer.py, test_variants.py.
#pragma once

#include <couplet/couplet.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ctca {

class Session;

enum class Method : std::int32_t { unknown = 0, wait = 1, overwrite = 2 };

// Boxes by their bounds, or as one of a grid of processes.
struct BufferShape {
  int dimensions = 0;  // 0: as the requester has
  const int* start = nullptr;
  const int* stop = nullptr;
  const int* grid = nullptr;
  const int* total = nullptr;
};

// What the requester tells everybody.
struct BufferOffer {
  std::int32_t type = 0;
  std::int32_t dimensions = 0;
  std::int32_t method = 0;  // where the requester chooses it
  std::int32_t number = 0;
  std::array<std::int64_t, COUPLET_MAX_DIMENSIONS> shape{};
};

class Buffer {
 public:
  // Collective over all ranks of all roles.
  static void open_as_requester(Session& session, const char* function, int gigabytes, couplet_type type,
                                const BufferShape& shape, Method method, const void* array);
  static void open_as_coupler(Session& session, const char* function, couplet_type type);
  // max_steps: after so many steps a read answers the end; -1: none. array: where steps come to; may be nullptr.
  static void open_as_worker(Session& session, const char* function, couplet_type type, const BufferShape& shape,
                             Method method, std::int64_t max_steps, void* array);

  void load(const char* function, couplet_type type, const void* data);
  // nullptr: the array of the init.
  void load_untyped(const char* function, const void* data);
  // The requester's last step was loaded.
  void over(const char* function);
  // Collective over the group. Returns 1 for a step, 2 at the end. data: the step is copied there; nullptr: to the array of the
  // init, or, if there is none, it stays in memory of the library. address() says where it is.
  int read(Session& session, const char* function, couplet_type type, void* data);
  [[nodiscard]] const void* address() const noexcept { return address_; }
  [[nodiscard]] int step() const noexcept { return step_; }
  [[nodiscard]] bool torn() const noexcept { return torn_; }
  void close(const char* function);

 private:
  // What one read of the series gave and was not handed out yet; in memory of the series until its next read.
  struct Backlog {
    const std::byte* data = nullptr;
    const std::int64_t* steps = nullptr;
    const std::uint8_t* torn = nullptr;
    std::uint64_t count = 0;
    std::uint64_t next = 0;
  };

  void place(const char* function, const BufferShape& shape, int rank, int size);
  void check_type(const char* function, couplet_type type) const;
  bool fetch(const char* function);
  [[nodiscard]] std::string name() const;

  BufferOffer offer_;
  std::vector<std::int64_t> start_;
  std::vector<std::int64_t> stop_;
  couplet_group* group_ = nullptr;  // worker: the ranks that read together
  couplet_series* series_ = nullptr;
  const void* array_ = nullptr;  // requester: that is loaded
  void* target_ = nullptr;       // worker: where steps come to
  std::int64_t loaded_ = 0;
  std::int64_t max_steps_ = -1;
  std::int64_t steps_given_ = 0;
  std::uint64_t step_bytes_ = 0;
  std::uint64_t slots_ = 0;
  Backlog backlog_;
  const void* address_ = nullptr;
  int step_ = -1;
  bool torn_ = false;
};

}  // namespace ctca
