#include "bench/series/measure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace couplet::bench {

SharedMemory::SharedMemory(const std::string& path, std::uint64_t bytes) : bytes_(bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 || posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) {
    give_up("no memory for " + path);
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  ::unlink(path.c_str());
  if (memory == MAP_FAILED) {
    give_up("cannot map " + path);
  }
  data_ = static_cast<std::byte*>(memory);
  std::memset(data_, 1, bytes);
}

SharedMemory::SharedMemory(const std::string& path, bool writable) {
  const int file = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) {
    give_up("cannot open " + path);
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  void* memory = mmap(nullptr, bytes_, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED | MAP_POPULATE, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) {
    give_up("cannot map " + path);
  }
  data_ = static_cast<std::byte*>(memory);
}

couplet_universe* join(const char* program) {
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.rank = 0;
  options.size = 1;
  couplet_universe* universe = nullptr;
  must(couplet_join(program, &options, &universe), "join");
  return universe;
}

couplet_series* create_series(couplet_universe* universe, const char* name, std::uint64_t slots) {
  const std::int64_t shape[2] = {extent, extent};
  const std::int64_t start[2] = {0, 0};
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = slots;
  couplet_series* series = nullptr;
  must(couplet_series_create(universe, name, COUPLET_INT32, 2, shape, start, shape, &options, &series), "create");
  return series;
}

couplet_series* open_series(couplet_universe* universe, const char* name, int mode, std::uint64_t buffer_bytes) {
  const std::int64_t start[2] = {box_start, box_start};
  const std::int64_t stop[2] = {box_start + box_extent, box_start + box_extent};
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.start = start;
  options.stop = stop;
  options.dimensions = 2;
  options.mode = mode;
  options.buffer_bytes = buffer_bytes;
  couplet_series* series = nullptr;
  must(couplet_series_open(universe, name, &options, &series), "open");
  return series;
}

void read_series(couplet_series* series, std::uint64_t count, std::byte* out) {
  couplet_series_batch batch;
  batch.struct_bytes = sizeof batch;
  must(couplet_series_read(series, count, count, -1, out, count * box_bytes, &batch), "read");
  if (batch.count != count) {
    give_up("read gave another number of steps");
  }
}

}  // namespace couplet::bench
