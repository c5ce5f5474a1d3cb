// couplet-probe-links: measures what Couplet's own ways cost, for the machine's cost file: messages over a link,
// collective calls by each method, rounds of exchanges by each method, and copies. `couplet probe --save` starts it,
// once for each setting of a universe, and makes a file of its lines (docs/formats/cost.md).
// Tests: tests/cost/test_costs.py.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/collective_method.hpp"
#include "couplet/couplet.h"
#include "layout/copy.hpp"

namespace {

using couplet::cost::Collective;
using couplet::cost::Method;

constexpr const char* usage =
    "usage: couplet-probe-links WHAT [NAME] --repetitions N --bytes N,...\n"
    "WHAT is messages (the ranks 0 and 1, or rank 0 alone), methods (all ranks) or copies (no universe). COUPLET_*\n"
    "says which universe is joined. NAME is that of the curve of messages.\n\n"
    "Exit status: 0; 1 a call has failed; 2 wrong options.\n";
constexpr int max_repetitions = 10'000;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30U;
constexpr double timeout_s = 60;

struct Options {
  std::string what;
  std::string name;
  int repetitions = 10;
  std::vector<std::uint64_t> sizes;
};

void check(couplet_status status, const char* what) {
  if (status == COUPLET_OK) return;
  std::fprintf(stderr, "couplet-probe-links: %s: %s\n", what, couplet_error_text());
  std::exit(1);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print_curve(const std::string& name, std::uint64_t bytes, const std::vector<double>& times) {
  std::printf("curve %s %llu", name.c_str(), static_cast<unsigned long long>(bytes));
  for (const double time : times) std::printf(" %.9e", time);
  std::printf("\n");
  std::fflush(stdout);
}

// How often something of that size is done in one sample.
int rounds_of(std::uint64_t bytes) {
  if (bytes <= 4096) return 20;
  return bytes <= 65536 ? 10 : 2;
}

// ---- messages ----

// Sends to and fro between two ranks, or from a rank to itself. Returns half the time of a round.
double time_messages(couplet_group* group, std::int32_t rank, std::int32_t other, std::vector<std::byte>& data,
                     int rounds) {
  const double begin = now_s();
  for (int round = 0; round < rounds; ++round) {
    if (other == rank) {
      couplet_request* request = nullptr;
      check(couplet_irecv(group, data.data(), data.size() / 2, COUPLET_BYTE, rank, 1, &request), "irecv");
      check(couplet_send(group, data.data() + data.size() / 2, data.size() / 2, COUPLET_BYTE, rank, 1), "send");
      check(couplet_wait(&request, timeout_s, nullptr), "wait");
      continue;
    }
    if (rank < other) check(couplet_send(group, data.data(), data.size(), COUPLET_BYTE, other, 1), "send");
    check(couplet_recv(group, data.data(), data.size(), COUPLET_BYTE, other, 1, nullptr), "recv");
    if (rank > other) check(couplet_send(group, data.data(), data.size(), COUPLET_BYTE, other, 1), "send");
  }
  const double passed = now_s() - begin;
  return passed / rounds / (other == rank ? 1 : 2);
}

void measure_messages(couplet_group* group, std::int32_t rank, std::int32_t size, const Options& options) {
  const std::int32_t other = size == 1 ? 0 : 1 - rank;
  if (rank > 1) return;
  for (const std::uint64_t bytes : options.sizes) {
    std::vector<std::byte> data(size == 1 ? 2 * bytes : bytes);
    const int rounds = rounds_of(bytes);
    static_cast<void>(time_messages(group, rank, other, data, rounds));
    std::vector<double> times(static_cast<std::size_t>(options.repetitions));
    for (double& time : times) time = time_messages(group, rank, other, data, rounds);
    if (rank == 0) print_curve("link:" + options.name, bytes, times);
  }
}

// ---- methods of collective calls and of exchanges ----

struct Members {
  couplet_group* group = nullptr;
  std::int32_t rank = 0;
  std::int32_t size = 0;
};

// Makes rounds, between two barriers, and returns the time of one.
double time_calls(const Members& members, int rounds, const std::function<void()>& call) {
  check(couplet_barrier(members.group, nullptr), "barrier");
  const double begin = now_s();
  for (int round = 0; round < rounds; ++round) call();
  check(couplet_barrier(members.group, nullptr), "barrier");
  return (now_s() - begin) / rounds;
}

std::vector<double> samples_of(const Members& members, int repetitions, int rounds, const std::function<void()>& call) {
  static_cast<void>(time_calls(members, rounds, call));
  std::vector<double> times(static_cast<std::size_t>(repetitions));
  for (double& time : times) time = time_calls(members, rounds, call);
  return times;
}

void make_call(Collective call, const Members& members, std::vector<std::byte>& data, std::vector<std::byte>& result,
               std::uint64_t bytes, const couplet_collective_options& options) {
  switch (call) {
    case Collective::barrier:
      return check(couplet_barrier(members.group, &options), "barrier");
    case Collective::broadcast:
      return check(couplet_broadcast(members.group, data.data(), bytes, COUPLET_BYTE, 0, &options), "broadcast");
    case Collective::reduce:
      return check(couplet_reduce(members.group, data.data(), result.data(), bytes / 8, COUPLET_INT64,
                                  COUPLET_OPERATION_SUM, 0, &options),
                   "reduce");
    case Collective::allreduce:
      return check(couplet_allreduce(members.group, data.data(), result.data(), bytes / 8, COUPLET_INT64,
                                     COUPLET_OPERATION_SUM, &options),
                   "allreduce");
    case Collective::gather:
      return check(couplet_gather(members.group, data.data(), bytes, result.data(), COUPLET_BYTE, 0, &options),
                   "gather");
    case Collective::allgather:
      return check(couplet_allgather(members.group, data.data(), bytes, result.data(), COUPLET_BYTE, &options),
                   "allgather");
    case Collective::scatter:
      return check(couplet_scatter(members.group, data.data(), result.data(), bytes, COUPLET_BYTE, 0, &options),
                   "scatter");
    case Collective::scan:
      return check(couplet_scan(members.group, data.data(), result.data(), bytes / 8, COUPLET_INT64,
                                COUPLET_OPERATION_SUM, &options),
                   "scan");
    case Collective::alltoall:
    case Collective::reduce_scatter:
      return;  // there is nothing to choose by the size
  }
}

std::vector<Method> methods_of(Collective call) {
  std::vector<Method> methods;
  for (std::uint8_t number = 1; number < couplet::cost::method_count; ++number) {
    const auto method = static_cast<Method>(number);
    if (method != Method::systems && is_possible(method, {.kind = call})) methods.push_back(method);
  }
  return methods;
}

void measure_collectives(const Members& members, const Options& options) {
  for (auto number = static_cast<std::uint8_t>(Collective::barrier);
       number <= static_cast<std::uint8_t>(Collective::scan); ++number) {
    const auto call = static_cast<Collective>(number);
    const std::vector<Method> methods = methods_of(call);
    if (methods.size() < 2 || call == Collective::alltoall || call == Collective::reduce_scatter) continue;
    for (const Method method : methods) {
      couplet_collective_options how;
      couplet_collective_options_init(&how);
      how.method = static_cast<std::int32_t>(method);
      how.timeout_s = timeout_s;
      const std::string name = "collective:" + std::string(name_of(call)) + ":" + std::string(name_of(method)) + ":" +
                               std::to_string(members.size) + ":1";
      for (const std::uint64_t bytes : options.sizes) {
        const std::uint64_t all = bytes * static_cast<std::uint64_t>(members.size);
        std::vector<std::byte> data(all);
        std::vector<std::byte> result(all);
        const auto times = samples_of(members, options.repetitions, std::max(2, rounds_of(bytes) / 5),
                                      [&] { make_call(call, members, data, result, bytes, how); });
        if (members.rank == 0) print_curve(name, call == Collective::allgather ? all : bytes, times);
      }
    }
  }
}

// Exchanges with both neighbours of a ring. Returns false if the method cannot be used here.
bool measure_exchange(const Members& members, const char* method, std::uint64_t bytes, const Options& options) {
  couplet_exchange_options how;
  couplet_exchange_options_init(&how);
  how.method = method;
  couplet_exchange* exchange = nullptr;
  check(couplet_exchange_create(members.group, "probe", &how, &exchange), "exchange");
  const auto count = static_cast<std::int64_t>(bytes);
  const std::int64_t start = 0;
  std::vector<std::vector<std::byte>> sent(2, std::vector<std::byte>(bytes));
  std::vector<std::vector<std::byte>> received = sent;
  for (const std::size_t side : {0U, 1U}) {
    couplet_exchange_edge edge;
    couplet_exchange_edge_init(&edge);
    edge.peer = (members.rank + (side == 0 ? 1 : members.size - 1)) % members.size;
    edge.tag = static_cast<std::int64_t>(side);
    check(couplet_exchange_send_box(exchange, &edge, sent[side].data(), COUPLET_BYTE, 1, &count, nullptr, &start,
                                    &count, nullptr),
          "send_box");
    edge.tag = static_cast<std::int64_t>(1 - side);
    check(couplet_exchange_receive_box(exchange, &edge, received[side].data(), COUPLET_BYTE, 1, &count, nullptr, &start,
                                       &count, nullptr),
          "receive_box");
  }
  const couplet_status frozen = couplet_exchange_freeze(exchange);
  if (frozen != COUPLET_ERROR_UNSUPPORTED) check(frozen, "freeze");
  if (frozen == COUPLET_OK) {
    const auto times = samples_of(members, options.repetitions, std::max(2, rounds_of(bytes) / 2), [&] {
      check(couplet_exchange_start(exchange), "start");
      check(couplet_exchange_wait(exchange, timeout_s), "wait");
    });
    if (members.rank == 0) print_curve(std::string("exchange:") + method, bytes * (members.size == 2 ? 2 : 1), times);
  }
  check(couplet_exchange_close(exchange), "close");
  return frozen == COUPLET_OK;
}

void measure_methods(const Members& members, const Options& options) {
  measure_collectives(members, options);
  for (const char* const method : {"mapped", "two_sided"}) {
    for (const std::uint64_t bytes : options.sizes) {
      if (!measure_exchange(members, method, bytes, options)) break;
    }
  }
}

// ---- copies ----

// Copies, and reads the copy once, as a prompt reader does.
void measure_copies(const Options& options) {
  using couplet::layout::CopyMethod;
  std::uint64_t sum = 0;
  for (const auto method : {CopyMethod::cached, CopyMethod::streaming}) {
    for (const std::uint64_t bytes : options.sizes) {
      std::vector<std::byte> source(bytes, std::byte{1});
      std::vector<std::byte> target(bytes);
      std::vector<double> times;
      for (int sample = 0; sample <= options.repetitions; ++sample) {
        const double begin = now_s();
        couplet::layout::copy_run(target.data(), source.data(), bytes, method);
        couplet::layout::store_fence();
        for (std::uint64_t place = 0; place + 8 <= bytes; place += 8) {
          std::uint64_t word = 0;
          std::memcpy(&word, target.data() + place, sizeof word);
          sum += word;
        }
        if (sample > 0) times.push_back(now_s() - begin);
      }
      print_curve(method == CopyMethod::cached ? "copy:cached" : "copy:streaming", bytes, times);
    }
  }
  if (sum == 0) std::exit(1);  // what was copied has arrived
}

// ---- options ----

template <class Number>
bool parse(std::string_view text, Number min, Number max, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= min && number <= max;
}

bool parse_sizes(std::string_view text, std::vector<std::uint64_t>& sizes) {
  while (true) {
    const auto comma = std::min(text.find(','), text.size());
    std::uint64_t bytes = 0;
    if (!parse<std::uint64_t>(text.substr(0, comma), 8, max_bytes, bytes)) return false;
    sizes.push_back(bytes);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

bool read_options(int count, char** arguments, Options& options) {
  for (int index = 1; index < count; ++index) {
    const std::string_view word = arguments[index];
    const bool has_value = index + 1 < count;
    if (word == "--repetitions" && has_value) {
      if (!parse(arguments[++index], 1, max_repetitions, options.repetitions)) return false;
    } else if (word == "--bytes" && has_value) {
      if (!parse_sizes(arguments[++index], options.sizes)) return false;
    } else if (word.starts_with("-")) {
      return false;
    } else {
      (options.what.empty() ? options.what : options.name) = word;
    }
  }
  const bool is_known = options.what == "messages" || options.what == "methods" || options.what == "copies";
  return is_known && !options.sizes.empty() && (options.what != "messages" || !options.name.empty());
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!read_options(count, arguments, options)) {
    std::fputs(usage, stderr);
    return 2;
  }
  std::printf("couplet-probe-links 1\n");
  if (options.what == "copies") {
    measure_copies(options);
    std::printf("done\n");
    return 0;
  }
  couplet_universe* universe = nullptr;
  check(couplet_join(nullptr, nullptr, &universe), "join");
  Members members;
  check(couplet_universe_group(universe, &members.group), "group");
  check(couplet_universe_rank(universe, &members.rank, &members.size), "rank");
  if (options.what == "messages") {
    measure_messages(members.group, members.rank, members.size, options);
  } else {
    measure_methods(members, options);
  }
  check(couplet_leave(universe), "leave");
  std::printf("done\n");
  return 0;
}
