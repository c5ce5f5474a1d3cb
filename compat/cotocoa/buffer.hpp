// The time-series buffer as a series: each requester rank writes its box of every step, and each worker rank reads
// its own box. A read is collective over the worker's group: all its ranks get the same step with the same call. One
// read of the series takes all steps that are there, and the following calls return them one by one. With the method
// "wait", the workers hold the series, and the init ends when all of them have opened it, so that nothing is lost. With
// the method "overwrite", they follow, and get torn steps with their mark. The functions of ctca.h call it; it calls
// Couplet's series.
// Tests: tests/compat/cotocoa/test_buffer.py, test_variants.py.
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
  // max_steps: the number of steps after which a read answers the end; -1: unlimited. array: the memory that each read
  // fills; may be nullptr.
  static void open_as_worker(Session& session, const char* function, couplet_type type, const BufferShape& shape,
                             Method method, std::int64_t max_steps, void* array);

  void load(const char* function, couplet_type type, const void* data);
  // Loads `data`, or the array of the init if that is nullptr.
  void load_untyped(const char* function, const void* data);
  // Says that the requester has loaded its last step.
  void over(const char* function);
  // Reads the next step. Collective over the group. Returns 1 for a step and 2 for the end. The step is copied to
  // `data`, or to the array of the init if that is nullptr. Without either it stays in memory of the library. address()
  // returns where it is.
  int read(Session& session, const char* function, couplet_type type, void* data);
  [[nodiscard]] const void* address() const noexcept { return last_.address; }
  [[nodiscard]] int step() const noexcept { return last_.step; }
  [[nodiscard]] bool torn() const noexcept { return last_.torn; }
  void close(const char* function);

 private:
  // The steps of one read of the series, of which `next` were returned. They are in memory of the series until its next
  // read.
  struct Backlog {
    const std::byte* data = nullptr;
    const std::int64_t* steps = nullptr;
    const std::uint8_t* torn = nullptr;
    std::uint64_t count = 0;
    std::uint64_t next = 0;
  };

  // What the last read has returned.
  struct LastRead {
    const void* address = nullptr;
    int step = -1;
    bool torn = false;
    std::vector<std::byte> copy;  // the last step that the worker wants, if nothing else has it
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
  const void* array_ = nullptr;  // requester: its steps are loaded from it
  void* target_ = nullptr;       // worker: each read fills it
  std::int64_t loaded_ = 0;
  std::int64_t steps_left_ = -1;  // worker: so many until it is told the end; -1: unlimited
  std::uint64_t step_bytes_ = 0;
  std::uint64_t slots_ = 0;
  Backlog backlog_;
  LastRead last_;
};

}  // namespace ctca
