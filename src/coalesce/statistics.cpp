#include "coalesce/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/counted.hpp"
#include "coalesce/json.hpp"

namespace couplet::coalesce {
namespace {

double per_round(std::uint64_t number, std::uint64_t rounds) {
  return rounds == 0 ? 0 : static_cast<double>(number) / static_cast<double>(rounds);
}

double milliseconds(std::uint64_t time_ns) {
  return static_cast<double>(time_ns) * 1e-6;
}

struct Sums {
  std::uint64_t messages = 0;
  std::uint64_t waits = 0;
  std::uint64_t wait_ns = 0;
};

Sums sums_of(const Counts& counts) {
  Sums sums;
  for (const PeerCounts& peer : counts.peers) sums.messages += peer.sent_messages;
  for (const PhaseCounts& phase : counts.phases) {
    sums.waits += phase.waits;
    sums.wait_ns += phase.wait_ns;
  }
  return sums;
}

}  // namespace

void ClientCounts::add(const ClientCounts& removed) {
  name = "(removed)";
  sent_parts += removed.sent_parts;
  sent_bytes += removed.sent_bytes;
  received_parts += removed.received_parts;
  received_bytes += removed.received_bytes;
  calls_ns += removed.calls_ns;
  wait_ns += removed.wait_ns;
}

PeerCounts& peer_of(std::vector<PeerCounts>& peers, std::int32_t rank) {
  const auto place = std::lower_bound(peers.begin(), peers.end(), rank,
                                      [](const PeerCounts& one, std::int32_t wanted) { return one.rank < wanted; });
  if (place != peers.end() && place->rank == rank) return *place;
  return *peers.insert(place, {.rank = rank});
}

std::string table_of(const Counts& counts) {
  const Sums sums = sums_of(counts);
  std::string text = fmt::format(
      "{}, rank {}: {} by {}, waits {}, messages {}\n"
      "a round: {:.3g} messages sent, {:.3g} synchronisation points, {:.3g} us waited\n\n",
      counts.name, counts.rank, counted(counts.rounds, "round"), counts.method,
      counts.merges_waits ? "merged" : "separate",
      counts.merges_waits && counts.merges_messages ? "merged" : "separate", per_round(sums.messages, counts.rounds),
      per_round(sums.waits, counts.rounds), per_round(sums.wait_ns, counts.rounds) * 1e-3);
  text += fmt::format("{:<24} {:>12} {:>16} {:>12} {:>16} {:>12} {:>12}\n", "client", "parts sent", "bytes sent",
                      "received", "bytes received", "ms in calls", "ms waited");
  for (const ClientCounts& client : counts.clients) {
    text += fmt::format("{:<24} {:>12} {:>16} {:>12} {:>16} {:>12.3f} {:>12.3f}\n", client.name, client.sent_parts,
                        client.sent_bytes, client.received_parts, client.received_bytes, milliseconds(client.calls_ns),
                        milliseconds(client.wait_ns));
  }
  text += fmt::format("\n{:<24} {:>12} {:>16} {:>12} {:>16} {:>12} {:>12}\n", "peer", "messages", "bytes sent",
                      "received", "bytes received", "", "ms waited");
  for (const PeerCounts& peer : counts.peers) {
    text += fmt::format("{:<24} {:>12} {:>16} {:>12} {:>16} {:>12} {:>12.3f}\n", fmt::format("rank {}", peer.rank),
                        peer.sent_messages, peer.sent_bytes, peer.received_messages, peer.received_bytes, "",
                        milliseconds(peer.wait_ns));
  }
  return text;
}

std::string json_of(const Counts& counts) {
  std::string text = fmt::format(
      R"({{"name": {}, "method": {}, "rank": {}, "rounds": {}, "merge_waits": {}, "merge_messages": {}, "clients": [)",
      json_text(counts.name), json_text(counts.method), counts.rank, counts.rounds, counts.merges_waits,
      counts.merges_messages);
  std::string_view comma;
  for (const ClientCounts& client : counts.clients) {
    text += fmt::format(
        R"({}{{"name": {}, "sent_parts": {}, "sent_bytes": {}, "received_parts": {}, "received_bytes": {}, )"
        R"("calls_ns": {}, "wait_ns": {}}})",
        comma, json_text(client.name), client.sent_parts, client.sent_bytes, client.received_parts,
        client.received_bytes, client.calls_ns, client.wait_ns);
    comma = ", ";
  }
  text += R"(], "peers": [)";
  comma = "";
  for (const PeerCounts& peer : counts.peers) {
    text += fmt::format(
        R"({}{{"rank": {}, "sent_messages": {}, "sent_bytes": {}, "received_messages": {}, "received_bytes": {}, )"
        R"("wait_ns": {}}})",
        comma, peer.rank, peer.sent_messages, peer.sent_bytes, peer.received_messages, peer.received_bytes,
        peer.wait_ns);
    comma = ", ";
  }
  text += R"(], "phases": [)";
  comma = "";
  for (const PhaseCounts& phase : counts.phases) {
    text += fmt::format(R"({}{{"synchronisation_points": {}, "wait_ns": {}}})", comma, phase.waits, phase.wait_ns);
    comma = ", ";
  }
  return text + "]}";
}

}  // namespace couplet::coalesce
