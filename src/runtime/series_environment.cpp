#include "runtime/series_environment.hpp"

#include <algorithm>

namespace couplet::runtime {
namespace {

constexpr std::uint64_t slice_with_messages_ns = 1'000'000;

using universe::PeerState;

bool gone(PeerState state) {
  return state == PeerState::left || state == PeerState::lost;
}

}  // namespace

channel::PeerId SeriesEnvironment::self() const noexcept {
  return static_cast<channel::PeerId>(membership_.rank());
}

std::uint16_t SeriesEnvironment::incarnation() const noexcept {
  return membership_.peer(self()).incarnation;
}

const std::string& SeriesEnvironment::program() const noexcept {
  return membership_.programs()[static_cast<std::size_t>(membership_.program())].name;
}

Status SeriesEnvironment::alive(channel::PeerId peer, std::uint16_t incarnation) {
  const auto& info = membership_.peer(peer);
  if (info.incarnation != incarnation) {
    return fail(Code::peer_lost, "{} is gone, and came again", membership_.peer_name(peer));
  }
  if (info.state == PeerState::left) {
    return fail(Code::peer_lost, "{} has left", membership_.peer_name(peer));
  }
  return membership_.alive(peer);
}

Status SeriesEnvironment::program_alive(std::string_view program) {
  const auto& programs = membership_.programs();
  const auto found =
      std::find_if(programs.begin(), programs.end(), [&](const auto& info) { return info.name == program; });
  if (found == programs.end()) {
    return fail(Code::not_found, "there is no program '{}' in this universe", program);
  }
  for (std::int32_t rank = 0; rank < found->size; ++rank) {
    if (!gone(membership_.peer(static_cast<channel::PeerId>(found->first_rank + rank)).state)) {
      return {};
    }
  }
  return fail(Code::peer_lost, "program '{}' is gone", program);
}

Result<std::uint64_t> SeriesEnvironment::between_slices() {
  engine_.poll();
  return messenger_.pending() > 0 ? slice_with_messages_ns : series::longest_slice_ns;
}

Result<std::unique_ptr<series::Part>> SeriesEnvironment::open_part(const universe::SeriesRecord& record,
                                                                   std::size_t part, const series::PartWish& /*wish*/,
                                                                   std::uint64_t /*deadline_ns*/) {
  return fail(Code::unsupported, "series '{}': {} writes on another node, and this build has no relay", record.name,
              membership_.peer_name(record.parts[part].writer));
}

Status SeriesEnvironment::count_opened(const universe::SeriesRecord& record, std::size_t /*part*/,
                                       std::uint32_t /*opened*/, std::uint32_t /*needed*/,
                                       std::uint64_t /*deadline_ns*/) {
  return fail(Code::unsupported, "series '{}': this build has no relay", record.name);
}

Status SeriesEnvironment::wait(const std::function<bool()>& done, std::uint64_t until_ns) {
  const Status waited = engine_.wait(done, until_ns, [] { return "steps of another node"; });
  return waited.code() == Code::timeout ? Status() : waited;
}

}  // namespace couplet::runtime
