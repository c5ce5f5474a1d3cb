// The history of one process: one JSON object per line, written before and after each call with the monotonic time, so
// that a process that is killed leaves what it has done.
#pragma once

#include <couplet/couplet.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace chaos {

inline std::uint64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::string quoted(const char* text) {
  std::string result = "\"";
  for (; *text != 0; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte == '"' || byte == '\\') {
      result += '\\';
    }
    result += byte < ' ' ? ' ' : static_cast<char>(byte);
  }
  return result + '"';
}

// A piece of a JSON object, as printf.
[[gnu::format(printf, 1, 2)]] inline std::string piece(const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

class History {
 public:
  explicit History(const char* path) : file_(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    line_.reserve(1 << 16);
  }
  [[nodiscard]] bool opened() const { return file_ >= 0; }

  // `rest` is ', "key": value' as often as needed.
  void write(const char* event, const char* call, const std::string& rest) {
    line_.assign(piece("{\"t\":%llu,\"e\":\"%s\",\"n\":%llu,\"c\":\"%s\"",
                       static_cast<unsigned long long>(nanoseconds(CLOCK_MONOTONIC)), event,
                       static_cast<unsigned long long>(number_), call));
    line_ += rest;
    line_ += "}\n";
    if (::write(file_, line_.data(), line_.size()) != static_cast<ssize_t>(line_.size())) {
      std::_Exit(4);  // a history with a hole would accuse somebody wrongly
    }
  }

  // Writes the event before a call.
  void begin(const char* call, const std::string& rest) {
    ++number_;
    call_ = call;
    write("b", call, rest);
    cpu_ns_ = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    delay_ns_ = delay_ns();
  }
  // Writes the event after it; the text of an error goes with it.
  couplet_status end(couplet_status status, const std::string& rest = "") {
    const std::uint64_t cpu_us = (nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_ns_) / 1000;
    const std::uint64_t delay_us = (delay_ns() - delay_ns_) / 1000;
    std::string all =
        piece(",\"s\":\"%s\",\"cpu_us\":%llu,\"delay_us\":%llu", couplet_status_name(status) + sizeof "COUPLET_" - 1,
              static_cast<unsigned long long>(cpu_us), static_cast<unsigned long long>(delay_us));
    if (status < 0 || status == COUPLET_FULL) {
      all += ",\"text\":" + quoted(couplet_error_text());
    }
    write("e", call_, all + rest);
    return status;
  }

 private:
  // How long this thread has waited for a core since it began. The file is opened once, because descriptors run out.
  [[nodiscard]] std::uint64_t delay_ns() const {
    char text[96] = {};
    unsigned long long running = 0;
    unsigned long long delay = 0;
    if (::pread(schedule_, text, sizeof text - 1, 0) <= 0) return 0;
    return std::sscanf(text, "%llu %llu", &running, &delay) == 2 ? delay : 0;
  }

  int file_;
  int schedule_ = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  std::uint64_t number_ = 0;
  const char* call_ = "";
  std::uint64_t cpu_ns_ = 0;
  std::uint64_t delay_ns_ = 0;
  std::string line_;
};

}  // namespace chaos
