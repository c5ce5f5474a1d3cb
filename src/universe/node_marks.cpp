#include "universe/node_marks.hpp"

#include <fcntl.h>

#include <charconv>
#include <string_view>

#include "os/descriptor.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/lock.hpp"
#include "os/process_page.hpp"

namespace couplet::universe {
namespace {

constexpr std::string_view page_prefix = "page-";
constexpr std::string_view left_prefix = "left-";
constexpr std::size_t peer_digits = 8;
constexpr std::size_t incarnation_digits = 4;

// The number behind a prefix, in hexadecimal digits.
bool take_number(std::string_view& text, std::size_t digits, std::uint32_t& number) {
  if (text.size() < digits) {
    return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number, 16);
  const bool whole = error == std::errc() && end == text.data() + digits;
  text.remove_prefix(digits);
  return whole;
}

const PeerRun* run_of(const std::vector<PeerRun>& runs, channel::PeerId peer) {
  for (const auto& run : runs) {
    if (peer >= run.first && peer - run.first < run.count) {
      return &run;
    }
  }
  return nullptr;
}

// A page that nobody holds the lock of, and that is of this incarnation.
bool dead_page(const std::string& directory, channel::PeerId peer, std::uint16_t incarnation) {
  auto probe = os::LockProbe::open(os::page_path(directory, peer));
  if (!probe.ok() || (*probe)->held()) {
    return false;
  }
  const auto page = os::PeerPage::open(directory, peer);
  return page.ok() && (*page)->header().incarnation == incarnation;
}

}  // namespace

Status mark_left(const std::string& directory, channel::PeerId peer, std::uint16_t incarnation) {
  const auto path = fmt::format("{}/{}{:08x}-{:04x}", directory, left_prefix, peer, incarnation);
  const os::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file ? Status() : os::system_failure(errno, fmt::format("cannot make {}", path));
}

std::vector<PeerRun> gone_from_node(const std::string& directory, const std::vector<PeerRun>& peers) {
  std::vector<PeerRun> gone;
  const auto names = peers.empty() ? Result<std::vector<std::string>>(Code::not_found) : os::list_directory(directory);
  if (!names.ok()) {
    return gone;
  }
  for (const auto& name : *names) {
    std::string_view rest = name;
    const bool page = rest.starts_with(page_prefix);
    if (!page && !rest.starts_with(left_prefix)) {
      continue;
    }
    rest.remove_prefix(page ? page_prefix.size() : left_prefix.size());
    std::uint32_t peer = 0;
    std::uint32_t incarnation = 0;
    if (!take_number(rest, peer_digits, peer)) {
      continue;
    }
    const auto* const run = run_of(peers, peer);
    if (run == nullptr) {
      continue;
    }
    const bool marked = !page && rest.starts_with('-') &&
                        take_number(rest = rest.substr(1), incarnation_digits, incarnation) &&
                        incarnation == run->incarnation;
    if (marked || (page && dead_page(directory, peer, run->incarnation))) {
      gone.push_back({peer, 1, marked ? PeerState::left : PeerState::lost, run->incarnation, run->node});
    }
  }
  return gone;
}

}  // namespace couplet::universe
