#include "exchange/assembly.hpp"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include "os/host.hpp"

namespace couplet::exchange {
namespace {

// Rank 0 says by which number this assembly is told from others.
std::string image_of(std::uint64_t nonce) {
  return wire::encode_list(std::span<const std::uint64_t>(&nonce, 1));
}

}  // namespace

Assembly::Assembly(message::Messenger& messenger, message::Group& group, message::Team& team, const std::string& title,
                   std::uint64_t deadline_ns)
    : group_(group), notices_(messenger, group), talk_(messenger, group, team, title, deadline_ns) {}

Status Assembly::hold(const std::function<Status(Assembly&)>& body) {
  COUPLET_TRY_VALUE(const std::uint64_t nonce, os::random_bits());
  COUPLET_TRY_VALUE(const auto nonces, talk_.gather(image_of(nonce)));
  COUPLET_TRY_VALUE(const auto epochs, wire::decode_list<std::uint64_t>(nonces.front()));
  if (epochs.size() != 1) return fail(Code::protocol, "rank 0 gives {} numbers of the assembly, not 1", epochs.size());
  const std::uint64_t epoch = epochs.front();
  std::set<std::int32_t> peers;
  for (std::int64_t distance = 1; distance < size(); distance *= 2) {
    peers.insert(static_cast<std::int32_t>((rank() + distance) % size()));
    peers.insert(static_cast<std::int32_t>((rank() - distance + size()) % size()));
  }
  context_ = exchange_context(group_, epoch, 1);
  const std::vector<std::int32_t> list(peers.begin(), peers.end());
  notices_.open(exchange_context(group_, epoch, 0), list);
  Status done;
  try {
    done = body(*this);
  } catch (const std::bad_alloc&) {
    done = Code::memory;
    is_broken_ = true;
  }
  if (is_broken_) {  // others may wait for what this member would have sent
    notices_.tell({.news = wire::ExchangeNews::failed,
                   .rounds = 0,
                   .code = static_cast<std::int32_t>(done.error() ? done.code() : Code::state),
                   .text = done.text()});
  }
  Status agreed = talk_.agree(done);
  notices_.close();
  return agreed;
}

Result<std::vector<Parcel>> Assembly::deliver(std::vector<Parcel> parcels) {
  std::vector<wire::MovingParcel> here;
  here.reserve(parcels.size());
  for (Parcel& parcel : parcels) {
    here.push_back({.from = rank(), .to = parcel.rank, .bytes = std::move(parcel.bytes)});
  }
  for (std::int64_t distance = 1; distance < size(); distance *= 2) {
    Status done = step(static_cast<std::int32_t>(distance), here);
    if (done.ok()) continue;
    is_broken_ = true;
    return done;
  }
  std::stable_sort(here.begin(), here.end(), [](const wire::MovingParcel& one, const wire::MovingParcel& other) {
    return one.from < other.from;
  });
  std::vector<Parcel> mine;
  mine.reserve(here.size());
  for (wire::MovingParcel& one : here) mine.push_back({.rank = one.from, .bytes = std::move(one.bytes)});
  return mine;
}

Result<bool> Assembly::all(bool own) {
  COUPLET_TRY_VALUE(const auto texts, talk_.gather(own ? "1" : "0"));
  return std::all_of(texts.begin(), texts.end(), [](const std::string& text) { return text == "1"; });
}

// What has that binary digit in the distance to its member goes on to the member that is so far away.
Status Assembly::step(std::int32_t distance, std::vector<wire::MovingParcel>& here) {
  const std::int64_t members = size();
  std::string leaving;
  std::vector<wire::MovingParcel> staying;
  for (wire::MovingParcel& one : here) {
    const std::int64_t left = (one.to - rank() + members) % members;
    if ((left & distance) == 0) {
      staying.push_back(std::move(one));
      continue;
    }
    wire::append_parcel(one, leaving);
  }
  here = std::move(staying);
  const auto next = static_cast<std::int32_t>((rank() + distance) % members);
  const auto before = static_cast<std::int32_t>((rank() - distance + members) % members);
  std::vector<std::int32_t> ports{next};
  std::vector<std::string> texts{std::move(leaving)};
  if (before != next) {
    ports.push_back(before);
    texts.emplace_back();
  }
  talk_.set_ports(context_, ports, [this] { return notices_.look(0); });
  COUPLET_TRY_VALUE(const auto answers, talk_.swap(texts));
  return wire::take_parcels(answers.back(), size(), here);
}

}  // namespace couplet::exchange
