/* ZeroMQ's side of bench/run message.   usage: message_zeromq PIPES ROLE ENDPOINT */
#include <zmq.h>

#include "../common/control.h"

static void* channel;

static void send_bytes(const void* data, size_t bytes) {
  if (zmq_send(channel, data, bytes, 0) < 0) bench_die("zmq_send");
}
static void receive_bytes(void* data, size_t bytes) {
  if (zmq_recv(channel, data, bytes, 0) != (int)bytes) bench_die("zmq_recv");
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const int role = atoi(arguments[2]);
  void* context = zmq_ctx_new();
  channel = zmq_socket(context, ZMQ_PAIR);
  const int failed = role == 0 ? zmq_bind(channel, arguments[3]) : zmq_connect(channel, arguments[3]);
  if (failed) bench_die(arguments[3]);
  const bench_transport transport = {send_bytes, receive_bytes};
  bench_serve(arguments[1], role, &transport);
  zmq_close(channel);
  zmq_ctx_term(context);
  return 0;
}
