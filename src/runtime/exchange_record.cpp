#include "runtime/exchange_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "os/descriptor.hpp"
#include "os/error.hpp"

namespace couplet::runtime {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr mode_t folder_mode = 0777;  // less what the umask takes away, as for a file of the user
constexpr mode_t file_mode = 0666;
// No link of another user is followed, and the open of a pipe does not wait for a reader.
constexpr int file_flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

OrderedJson peers_of(const exchange::Record& record) {
  OrderedJson peers = OrderedJson::array();
  for (std::size_t port = 0; port < record.ports.size(); ++port) {
    const exchange::Port& plan = record.ports[port];
    if (!plan.sends) continue;
    const exchange::Traffic& traffic = record.traffic[port];
    peers.push_back({{"rank", record.group.peer(plan.peer)},
                     {"plan_bytes", plan.out_bytes},
                     {"messages", traffic.sent_messages},
                     {"bytes", traffic.sent_bytes}});
  }
  return peers;
}

// The members as runs of consecutive ranks, [first, count], so that a line does not grow with a program.
OrderedJson members_of(const message::Group& group) {
  OrderedJson runs = OrderedJson::array();
  std::int64_t first = 0;
  std::int64_t count = 0;
  for (std::int32_t member = 0; member < group.size(); ++member) {
    const std::int64_t rank = group.peer(member);
    if (count > 0 && rank == first + count) {
      ++count;
      continue;
    }
    if (count > 0) runs.push_back({first, count});
    first = rank;
    count = 1;
  }
  runs.push_back({first, count});
  return runs;
}

std::string line_of(const exchange::Record& record, const universe::Membership& membership) {
  OrderedJson programs = OrderedJson::array();
  for (const universe::ProgramInfo& program : membership.programs()) {
    programs.push_back({{"name", program.name}, {"size", program.size}, {"first_rank", program.first_rank}});
  }
  const OrderedJson line{{"schema", "couplet.exchange.record"},
                         {"version", 1},
                         {"run", fmt::format("{:016x}", membership.run_id())},
                         {"rank", membership.rank()},
                         {"programs", std::move(programs)},
                         {"title", record.title},
                         {"exchange", record.name},
                         {"members", members_of(record.group)},
                         {"method", record.method},
                         {"rounds", record.rounds},
                         {"sends", peers_of(record)}};
  // Names that are not UTF-8 are kept as far as they are.
  return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

// Appends the line in full or not at all.
Status append(const std::string& path, const std::string& line) {
  const int number = os::retry_interrupted([&] { return ::open(path.c_str(), file_flags, file_mode); });
  if (number < 0) return os::system_failure(errno, fmt::format("cannot open {}", path));
  const os::Descriptor file(number);
  struct stat before {};
  if (::fstat(number, &before) != 0) return os::system_failure(errno, fmt::format("cannot look at {}", path));
  if (!S_ISREG(before.st_mode)) return fail(Code::system, "{} is no regular file", path);
  for (std::size_t done = 0; done < line.size();) {
    const auto wrote = os::retry_interrupted([&] { return ::write(number, line.data() + done, line.size() - done); });
    if (wrote <= 0) {
      const int error = wrote < 0 ? errno : ENOSPC;
      static_cast<void>(::ftruncate(number, before.st_size));
      return os::system_failure(error, fmt::format("cannot write {}", path));
    }
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

Status prepare(const std::string& folder) {
  constexpr std::string_view right = "it has to be the absolute path of a folder that can be written";
  if (!folder.starts_with('/')) {
    return fail(Code::config, "setting 'exchange.record' is '{}'; {}", folder, right);
  }
  if (::mkdir(folder.c_str(), folder_mode) != 0 && errno != EEXIST) {
    const Status why = os::system_failure(errno, "the folder cannot be made");
    return fail(Code::config, "setting 'exchange.record' is '{}'; {}: {}", folder, right, why.text());
  }
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || ::access(folder.c_str(), W_OK | X_OK) != 0) {
    return fail(Code::config, "setting 'exchange.record' is '{}'; {}", folder, right);
  }
  return {};
}

}  // namespace

Result<ExchangeRecorder> exchange_recorder(const universe::Membership& membership,
                                           std::function<void(const std::string&)> note) {
  const std::string folder = membership.setting("exchange.record");
  if (folder.empty()) return ExchangeRecorder();
  COUPLET_TRY(prepare(folder));
  std::string path = fmt::format("{}/exchanges.{}.jsonl", folder, membership.rank());
  return ExchangeRecorder(
      [&membership, path = std::move(path), note = std::move(note)](const exchange::Record& record) {
        Status written;
        try {
          written = append(path, line_of(record, membership));
        } catch (const std::bad_alloc&) {
          written = Code::memory;
        }
        if (!written.ok()) note(written.within(fmt::format("{} is not recorded", record.title)).text());
      });
}

}  // namespace couplet::runtime
