// Messages and areas.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "actor.hpp"

namespace chaos {
namespace {

constexpr std::uint64_t max_message_words = (4U << 20) / 8;

std::string flow_key(const Action& action, const char* direction) {
  return direction + action.text("peer") + "/" + action.text("rank", "0") + "/" + action.text("tag", "1");
}

}  // namespace

bool Actor::find_peer(const Action& action, std::int32_t& peer) {
  const std::string program = action.text("peer");
  return couplet_universe_find_rank(universe_, program.c_str(), static_cast<std::int32_t>(action.whole("rank", 0)),
                                    &peer) == COUPLET_OK;
}

// Waits for the flow's request in slices. False: it is still pending when the patience has passed.
bool Actor::wait_for(Flow& flow, const Action& action, const char* call, couplet_message* message, const char* key) {
  const double slice_s = action.real("wait", 2);
  const std::uint64_t begun = nanoseconds(CLOCK_MONOTONIC);
  for (;;) {
    history_.begin(call, piece(",\"f\":\"%s\",\"seq\":%llu,\"timeout\":%.3f", key,
                               static_cast<unsigned long long>(flow.sequence), slice_s));
    const couplet_status status = couplet_wait(&flow.request, slice_s, message);
    bool last = false;
    const bool received = status == COUPLET_OK && message != nullptr;
    history_.end(status, received ? check_message(flow, *message, last) : "");
    if (status != COUPLET_ERROR_TIMEOUT && status != COUPLET_INTERRUPTED) {
      flow.sequence += status == COUPLET_OK ? 1 : 0;
      return status == COUPLET_OK && !last;
    }
    if (static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - begun) / 1e9 > action.real("patience", 15)) {
      return false;
    }
  }
}

void Actor::send(const Action& action) {
  std::int32_t peer = 0;
  const std::string key = flow_key(action, ">");
  Flow& flow = flows_[key];
  if (!find_peer(action, peer) || (flow.request != nullptr && !wait_for(flow, action, "sent", nullptr, key.c_str()))) {
    return;
  }
  const std::uint64_t words = std::clamp<std::uint64_t>(action.count("bytes", 8) / 8, 1, max_message_words);
  const auto count = action.count("count", 1);
  for (std::uint64_t index = 0; index < count; ++index) {
    const MessageLabel label{self_.number, self_.life, flow.sequence, action.has("last") && index + 1 == count};
    flow.buffer.resize(words);
    flow.buffer[0] = label.word();
    for (std::uint64_t place = 1; place < words; ++place) {
      flow.buffer[place] = MessageLabel::follows(self_.seed, label.word(), place);
    }
    history_.begin("isend",
                   piece(",\"f\":\"%s\",\"to\":%d,\"seq\":%llu,\"words\":%llu", key.c_str(), peer,
                         static_cast<unsigned long long>(flow.sequence), static_cast<unsigned long long>(words)));
    const couplet_status status =
        history_.end(couplet_isend(everybody_, flow.buffer.data(), words, COUPLET_UINT64, peer,
                                   static_cast<std::int32_t>(action.whole("tag", 1)), &flow.request));
    if (status != COUPLET_OK || !wait_for(flow, action, "sent", nullptr, key.c_str())) {
      return;
    }
    if (const auto us = action.whole("pause_us", 0); us > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(us));
    }
  }
}

std::string Actor::check_message(const Flow& flow, const couplet_message& message, bool& last) const {
  const std::uint64_t words = message.bytes / 8;
  MessageLabel label;
  if (words == 0 || words > flow.buffer.size() || !label.decode(flow.buffer[0])) {
    return piece(",\"words\":%llu,\"bad\":\"no label\"", static_cast<unsigned long long>(words));
  }
  last = label.last;
  std::string text = piece(",\"words\":%llu,\"sender\":%llu,\"life\":%llu,\"got\":%llu,\"last\":%d",
                           static_cast<unsigned long long>(words), static_cast<unsigned long long>(label.sender),
                           static_cast<unsigned long long>(label.life), static_cast<unsigned long long>(label.sequence),
                           static_cast<int>(label.last));
  for (std::uint64_t place = 1; place < words; ++place) {
    if (flow.buffer[place] != MessageLabel::follows(self_.seed, flow.buffer[0], place)) {
      return text + piece(",\"bad\":\"word %llu is %016llx\"", static_cast<unsigned long long>(place),
                          static_cast<unsigned long long>(flow.buffer[place]));
    }
  }
  return text;
}

void Actor::receive(const Action& action) {
  std::int32_t peer = 0;
  const std::string key = flow_key(action, "<");
  Flow& flow = flows_[key];
  if (!find_peer(action, peer)) {
    return;
  }
  // Large enough for any message: one that was given up for the moment may be followed by one of another size.
  flow.buffer.resize(max_message_words);
  for (std::uint64_t index = 0; index < action.count("count", 1); ++index) {
    if (flow.request == nullptr) {
      history_.begin("irecv", piece(",\"f\":\"%s\",\"from\":%d,\"seq\":%llu", key.c_str(), peer,
                                    static_cast<unsigned long long>(flow.sequence)));
      const auto tag = static_cast<std::int32_t>(action.whole("tag", 1));
      if (history_.end(couplet_irecv(everybody_, flow.buffer.data(), flow.buffer.size(), COUPLET_UINT64, peer, tag,
                                     &flow.request)) != COUPLET_OK) {
        return;
      }
    }
    couplet_message message{};
    if (!wait_for(flow, action, "received", &message, key.c_str())) {
      return;
    }
  }
}

void Actor::create_area(const Action& action) {
  const std::string name = action.text("area");
  const std::int64_t elements = action.whole("elements", 64);
  couplet_area_options options;
  couplet_area_options_init(&options);
  options.stamped = 1;
  history_.begin("create_area", piece(",\"k\":\"%s\"", name.c_str()));
  couplet_area* area = nullptr;
  if (history_.end(couplet_area_create(universe_, name.c_str(), COUPLET_UINT64, 1, &elements, &options, &area)) ==
      COUPLET_OK) {
    areas_[name] = area;
  }
}

void Actor::open_area(const Action& action) {
  const std::string name = action.text("area");
  std::int32_t peer = 0;
  if (!find_peer(action, peer)) {
    return;
  }
  const double timeout_s = action.real("timeout", 5);
  history_.begin("open_area", piece(",\"k\":\"%s\",\"owner\":%d,\"timeout\":%.3f", name.c_str(), peer, timeout_s));
  couplet_area* area = nullptr;
  if (history_.end(couplet_area_open(universe_, name.c_str(), peer, timeout_s, &area)) == COUPLET_OK) {
    areas_[name] = area;
  }
}

// Writes, or reads and checks, a stamped area: all its words come from one writing, or it is still zero.
void Actor::use_area(const Action& action, bool write) {
  const std::string name = action.text("area");
  const auto found = areas_.find(name);
  if (found == areas_.end()) {
    return;
  }
  std::vector<std::uint64_t> data(action.count("elements", 64));
  const double timeout_s = action.real("timeout", 2);
  const char* const call = write ? "write_area" : "read_area";
  for (std::uint64_t index = 0; index < action.count("count", 1); ++index) {
    if (write) {
      data[0] = MessageLabel{self_.number, self_.life, index, false}.word();
      for (std::uint64_t place = 1; place < data.size(); ++place) {
        data[place] = MessageLabel::follows(self_.seed, data[0], place);
      }
    }
    history_.begin(call, piece(",\"k\":\"%s\",\"timeout\":%.3f", name.c_str(), timeout_s));
    const couplet_status status =
        write ? couplet_area_write(found->second, 0, data.size(), data.data(), timeout_s, nullptr)
              : couplet_area_read(found->second, 0, data.size(), data.data(), timeout_s, nullptr);
    std::uint64_t wrong = 0;
    for (std::uint64_t place = 1; place < data.size(); ++place) {
      wrong += data[place] != (data[0] == 0 ? 0 : MessageLabel::follows(self_.seed, data[0], place)) ? 1 : 0;
    }
    history_.end(status, status == COUPLET_OK ? piece(",\"wrong\":%llu", static_cast<unsigned long long>(wrong)) : "");
    if (status < 0 && status != COUPLET_ERROR_TIMEOUT) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(action.whole("pause_us", 0)));
  }
}

}  // namespace chaos
