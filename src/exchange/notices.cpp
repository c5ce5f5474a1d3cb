#include "exchange/notices.hpp"

#include <algorithm>
#include <new>

#include "base/counted.hpp"

namespace couplet::exchange {
namespace {

constexpr std::int32_t notice_tag = 0;

}  // namespace

void Notices::open(std::uint32_t context, std::span<const std::int32_t> neighbors) {
  context_ = context;
  for (const std::int32_t rank : neighbors) {
    Neighbor& neighbor = neighbors_.emplace_back();
    neighbor.rank = rank;
    neighbor.request = courier_.receive_bytes(group_, context_, notice_tag, neighbor.incoming, rank);
  }
}

std::string Notices::name_of(std::int32_t rank) const {
  return fmt::format("rank {} ({})", rank, courier_.name(group_.peer(rank)));
}

// A neighbour that cannot be told because there is no memory or no descriptor loses its channel, so that it does not
// wait for ever.
void Notices::tell(const wire::ExchangeNotice& notice) noexcept {
  if (std::exchange(has_told_, true)) return;
  for (const Neighbor& neighbor : neighbors_) {
    Status sent;
    try {
      sent = courier_.messenger().send_internal(group_, context_, wire::encode_exchange_notice(notice), neighbor.rank,
                                                notice_tag);
    } catch (const std::bad_alloc&) {
      sent = Code::memory;
    }
    if (sent.code() == Code::memory || sent.code() == Code::limit)
      courier_.messenger().give_up_peer(group_, neighbor.rank, sent);
  }
}

bool Notices::has_news(std::uint64_t rounds) const noexcept {
  return std::any_of(neighbors_.begin(), neighbors_.end(), [rounds](const Neighbor& neighbor) {
    return (neighbor.request != nullptr && neighbor.request->done) || (neighbor.has_closed && neighbor.rounds < rounds);
  });
}

Status Notices::take(Neighbor& neighbor) {
  Status received = courier_.end(neighbor.request);
  if (received.code() == Code::peer_lost && courier_.has_left(group_.peer(neighbor.rank))) {
    neighbor.departure = received.within(name_of(neighbor.rank));
    has_departed_ = true;
    return {};
  }
  if (!received.ok()) {
    return received.code() == Code::peer_lost ? received.within(name_of(neighbor.rank)) : received;
  }
  COUPLET_TRY_VALUE(const wire::ExchangeNotice notice, wire::decode_exchange_notice(neighbor.incoming));
  if (notice.news == wire::ExchangeNews::failed) {
    was_told_ = true;
    const bool is_known = std::string_view(code_name(notice.code)) != "unknown";
    return fail(is_known ? static_cast<Code>(notice.code) : Code::protocol, "{}", notice.text);
  }
  neighbor.has_closed = true;
  neighbor.rounds = notice.rounds;
  return {};
}

// What a neighbour has said explains more than that another one was lost.
Status Notices::look(std::uint64_t rounds) noexcept {
  for (Neighbor& neighbor : neighbors_) {
    if (was_told_ || (!failure_.ok() && failure_.code() != Code::peer_lost)) break;
    try {
      Status news;
      if (neighbor.request != nullptr && neighbor.request->done) news = take(neighbor);
      if (news.ok() && neighbor.has_closed && neighbor.rounds < rounds) {
        news =
            fail(Code::state, "{} has closed it after {}", name_of(neighbor.rank), counted(neighbor.rounds, "round"));
      }
      if (!news.ok()) failure_ = std::move(news);
    } catch (const std::bad_alloc&) {
      failure_ = Code::memory;
    }
  }
  return failure_;
}

Status Notices::departure_of(std::int32_t rank) const {
  for (const Neighbor& neighbor : neighbors_) {
    if (neighbor.rank == rank) return neighbor.departure;
  }
  return {};
}

void Notices::watch() noexcept {
  for (const Neighbor& neighbor : neighbors_) {
    if (neighbor.request != nullptr && !neighbor.request->done) courier_.watch(*neighbor.request);
  }
}

void Notices::close() noexcept {
  for (Neighbor& neighbor : neighbors_) {
    if (neighbor.request == nullptr) continue;
    if (neighbor.request->done) {
      static_cast<void>(courier_.end(neighbor.request));
    } else {
      static_cast<void>(courier_.withdraw(neighbor.request));
    }
    courier_.drop(group_.peer(neighbor.rank), context_);
  }
}

}  // namespace couplet::exchange
