/* The limits of bench/run message.   usage: message_raw PIPES ROLE flag|read|tcp FILE
 * flag: a word and the payload in mapped memory (FILE), in as few cache lines as possible. read: process_vm_readv, with
 * flags that say when. tcp: sockets over loopback; the port is in FILE. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "../common/control.h"

enum { LINE = 64, FLAG_BYTES = 4096 };

typedef struct direction {
  _Alignas(LINE) _Atomic uint64_t flag; /* with up to 56 bytes of payload in its line */
  char payload[FLAG_BYTES - 8];
  _Alignas(LINE) _Atomic uint64_t done;
  _Alignas(LINE) uint64_t address;
  int32_t process;
} direction;

static direction* out;
static direction* in;
static uint64_t sent;
static uint64_t received;
static int connection;

static void await(const _Atomic uint64_t* word, uint64_t value) {
  while (atomic_load_explicit(word, memory_order_acquire) != value) {
  }
}

static void send_flag(const void* data, size_t bytes) {
  memcpy(out->payload, data, bytes);
  atomic_store_explicit(&out->flag, ++sent, memory_order_release);
}
static void receive_flag(void* data, size_t bytes) {
  await(&in->flag, ++received);
  memcpy(data, in->payload, bytes);
}

static void send_read(const void* data, size_t bytes) {
  (void)bytes;
  out->address = (uint64_t)(uintptr_t)data;
  out->process = getpid();
  atomic_store_explicit(&out->flag, ++sent, memory_order_release);
  await(&out->done, sent);
}
static void receive_read(void* data, size_t bytes) {
  await(&in->flag, ++received);
  struct iovec own = {data, bytes};
  struct iovec far = {(void*)(uintptr_t)in->address, bytes};
  if (process_vm_readv(in->process, &own, 1, &far, 1, 0) != (ssize_t)bytes) bench_die("process_vm_readv");
  atomic_store_explicit(&in->done, received, memory_order_release);
}

static void send_tcp(const void* data, size_t bytes) {
  const char* at = data;
  while (bytes > 0) {
    const ssize_t moved = send(connection, at, bytes, MSG_DONTWAIT);
    if (moved < 0 && errno != EAGAIN) bench_die("send");
    if (moved > 0) at += moved, bytes -= (size_t)moved;
  }
}
static void receive_tcp(void* data, size_t bytes) {
  char* at = data;
  while (bytes > 0) {
    const ssize_t moved = recv(connection, at, bytes, MSG_DONTWAIT);
    if (moved == 0 || (moved < 0 && errno != EAGAIN)) bench_die("recv");
    if (moved > 0) at += moved, bytes -= (size_t)moved;
  }
}

static void open_memory(int role, const char* path) {
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 2 * sizeof(direction)) != 0) bench_die(path);
  direction* both = mmap(NULL, 2 * sizeof(direction), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (both == MAP_FAILED) bench_die("mmap");
  out = both + role;
  in = both + 1 - role;
}

static void open_tcp(int role, const char* path) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int own = socket(AF_INET, SOCK_STREAM, 0);
  const int bytes = 4 << 20;
  const int one = 1;
  setsockopt(own, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(own, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  if (role == 0) {
    if (bind(own, (struct sockaddr*)&address, sizeof address) != 0 || listen(own, 1) != 0) bench_die("listen");
    getsockname(own, (struct sockaddr*)&address, &length);
    char temporary[512];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE* file = fopen(temporary, "w");
    fprintf(file, "%d\n", ntohs(address.sin_port));
    fclose(file);
    rename(temporary, path);
    connection = accept(own, NULL, NULL);
  } else {
    FILE* file = NULL;
    const struct timespec pause = {0, 10000000};
    while ((file = fopen(path, "r")) == NULL) nanosleep(&pause, NULL);
    int port = 0;
    if (fscanf(file, "%d", &port) != 1) bench_die("port");
    fclose(file);
    address.sin_port = htons((uint16_t)port);
    connection = own;
    if (connect(own, (struct sockaddr*)&address, sizeof address) != 0) bench_die("connect");
  }
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const int role = atoi(arguments[2]);
  bench_transport transport = {send_flag, receive_flag};
  if (strcmp(arguments[3], "tcp") == 0) {
    transport = (bench_transport){send_tcp, receive_tcp};
    open_tcp(role, arguments[4]);
  } else {
    open_memory(role, arguments[4]);
    if (strcmp(arguments[3], "read") == 0) transport = (bench_transport){send_read, receive_read};
  }
  bench_serve(arguments[1], role, &transport);
  return 0;
}
