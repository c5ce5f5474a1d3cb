// The time-series buffer as a series: each requester rank writes its box of every step, and each worker rank reads its
// own box. With the method "wait", the workers hold the series and are required readers, so that nothing is lost from
// the first step on. With the method "overwrite", they follow, and get torn steps with their mark. The functions of
// ctca.h call it; it calls Couplet's series.
// Tests: tests/compat/cotocoa/test_buffer.py.
#pragma once

#include <couplet/couplet.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ctca {

class Session;

enum class Method : std::int32_t { unknown = 0, wait = 1, overwrite = 2 };

// Boxes, given by their bounds or as one of a grid of processes.
struct BufferShape {
  int dimensions = 0;  // 0: as many as the requester's
  const int* start = nullptr;
  const int* stop = nullptr;
  const int* grid = nullptr;
  const int* total = nullptr;
};

// The offer that the requester sends to all processes.
struct BufferOffer {
  std::int32_t type = 0;
  std::int32_t dimensions = 0;
  std::int32_t method = 0;  // the method, if the requester chooses it
  std::int32_t number = 0;
  std::array<std::int64_t, COUPLET_MAX_DIMENSIONS> shape{};
};

class Buffer {
 public:
  // Opens the buffer. Collective over all ranks of all roles.
  static void open_as_requester(Session& session, const char* function, int gigabytes, couplet_type type,
                                const BufferShape& shape, Method method, const void* array);
  static void open_as_coupler(Session& session, const char* function, couplet_type type);
  static void open_as_worker(Session& session, const char* function, couplet_type type, const BufferShape& shape,
                             Method method);

  void load(const char* function, couplet_type type, const void* data);
  void load_array(const char* function);
  // Says that the requester has loaded its last step.
  void over(const char* function);
  // Reads the next step. Returns 1 for a step and 2 for the end. If `data` is nullptr, the step is at address().
  int read(Session& session, const char* function, couplet_type type, void* data);
  [[nodiscard]] const void* address() const noexcept { return address_; }
  [[nodiscard]] int step() const noexcept { return step_; }
  [[nodiscard]] bool torn() const noexcept { return torn_; }
  void close(const char* function);

 private:
  BufferOffer offer_;
  std::vector<std::int64_t> start_;
  std::vector<std::int64_t> stop_;
  couplet_series* series_ = nullptr;
  const void* array_ = nullptr;
  std::int64_t loaded_ = 0;
  std::uint64_t step_bytes_ = 0;
  const void* address_ = nullptr;
  int step_ = -1;
  bool torn_ = false;

  void place(const char* function, const BufferShape& shape, int rank, int size);
  void check_type(const char* function, couplet_type type) const;
  [[nodiscard]] std::string name() const;
};

}  // namespace ctca
