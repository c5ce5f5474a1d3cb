// The time-series buffer as a series: each requester rank writes its box of every step, each worker rank reads its own box.
// With method wait the workers hold the series and are required, so that nothing is lost from the first step on; with method
// overwrite they follow, and get torn steps with their mark.
// Above: the functions of ctca.h. Below: Couplet's series. Tests: tests/compat/cotocoa/test_buffer.py.
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
  static void open_as_worker(Session& session, const char* function, couplet_type type, const BufferShape& shape,
                             Method method);

  void load(const char* function, couplet_type type, const void* data);
  void load_array(const char* function);
  // The requester's last step was loaded.
  void over(const char* function);
  // 1: a step, 2: the end. data may be nullptr: then address() has it.
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
