#include "universe/node_facts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "os/descriptor.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"

namespace couplet::universe {
namespace {

using Json = nlohmann::json;

constexpr const char* magic = "node directory";
constexpr std::size_t max_file_bytes = 4096;

Result<std::string> read_own_file(const std::string& path) {
  os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) {
    return errno == ENOENT ? Status(Code::not_found) : fail(Code::protocol, "{} cannot be read", path);
  }
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid()) {
    return fail(Code::protocol, "{} is not a file of this user", path);
  }
  std::array<char, max_file_bytes> text{};
  const ssize_t bytes = os::retry_interrupted([&] { return ::read(file.number(), text.data(), text.size()); });
  return std::string(text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
}

}  // namespace

Result<NodeFacts> read_node_facts(const std::string& directory) {
  COUPLET_TRY_VALUE(const auto text, read_own_file(directory + "/" + node_facts_file));
  const auto json = Json::parse(text, nullptr, false);
  const auto word = [&](const char* field) {
    const auto found = json.is_object() ? json.find(field) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto version = json.is_object() ? json.find("version") : json.end();
  const bool known = version != json.end() && version->is_number_integer() && *version == node_facts_version;
  NodeFacts facts{0, word("boot_id"), word("host"), word("key")};
  const auto run = word("run");
  const auto [end, error] = std::from_chars(run.data(), run.data() + run.size(), facts.run_id, 16);
  if (word("couplet") != magic || !known || run.size() != run_id_digits || error != std::errc() ||
      end != run.data() + run.size() || facts.boot_id.empty() || facts.key.empty()) {
    return fail(Code::protocol, "{}/{} is not the file of a node directory of version {}", directory, node_facts_file,
                node_facts_version);
  }
  return facts;
}

Status write_node_facts(const std::string& directory, const NodeFacts& facts) {
  const auto path = fmt::format("{}/{}", directory, node_facts_file);
  const auto making = os::temporary_name(directory, node_facts_file);
  const Json json = {{"couplet", magic},
                     {"version", node_facts_version},
                     {"run", fmt::format("{:016x}", facts.run_id)},
                     {"boot_id", facts.boot_id},
                     {"host", facts.host},
                     {"key", facts.key}};
  const auto text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  os::Descriptor file(::open(making.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool written = file && ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written || std::rename(making.c_str(), path.c_str()) != 0) {
    auto failure = os::system_failure(errno, fmt::format("cannot write {}", path));
    static_cast<void>(os::remove_file(making));
    return failure;
  }
  return {};
}

}  // namespace couplet::universe
