#include "engine/channel_sources.hpp"

namespace couplet::engine {

ChannelSources::ChannelSources(Engine& engine, channel::ChannelTable& table)
    : engine_(engine), table_(table), memory_(table), sockets_(engine, table) {
  engine_.add(memory_, Rate::often);
  engine_.add(sockets_, Rate::seldom);
  table_.set_watcher(this);
}

int ChannelSources::Sockets::poll(std::uint64_t /*now_ns*/, int budget) {
  constexpr unsigned polls_between_looks = 4;  // while channels over sockets are polled themselves
  const int work = table_.poll_sockets(budget);
  if (work > 0 || (table_.any_socket_polled() && ++idle_polls_ % polls_between_looks != 0)) {
    return work;
  }
  return engine_.look_at_descriptors();
}

ChannelSources::~ChannelSources() {
  table_.set_watcher(nullptr);
  engine_.remove(sockets_);
  engine_.remove(memory_);
}

}  // namespace couplet::engine
