/* A plugin for qemu: how many instructions of aarch64 a program executes, by kind, told at its end as
 * "instructions N vector N memory N": vector arithmetic, loads and stores.
 *
 * qemu-user's plugin interface, version 1 (qemu 6 to 8); Debian ships no header of it, so what is used of it is declared here.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct block;
struct instruction;
enum { ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct block *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, int operation, void *counter, uint64_t by);
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct block *);
struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t);
const void *qemu_plugin_insn_data(const struct instruction *);
void qemu_plugin_outs(const char *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { ALL, VECTOR, MEMORY, KINDS };
static const char *const names[KINDS] = {"instructions", "vector", "memory"};
/* Of all threads together: not exact where several run at once. */
static uint64_t counted[KINDS];

/* The groups of instructions are told apart by bits 25 to 28 (Arm Architecture Reference Manual, C4.1). */
static int is_vector(uint32_t word) { return (word >> 25 & 7) == 7; }
static int is_memory(uint32_t word) { return (word >> 25 & 5) == 4; }

static void translated(plugin_id id, struct block *block)
{
    uint64_t here[KINDS] = {0};
    (void)id;
    here[ALL] = qemu_plugin_tb_n_insns(block);
    for (size_t i = 0; i < here[ALL]; i++) {
        uint32_t word = *(const uint32_t *)qemu_plugin_insn_data(qemu_plugin_tb_get_insn(block, i));
        here[VECTOR] += is_vector(word);
        here[MEMORY] += is_memory(word);
    }
    for (int kind = 0; kind < KINDS; kind++)
        qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &counted[kind], here[kind]);
}

static void told(plugin_id id, void *data)
{
    char line[64];
    (void)id, (void)data;
    for (int kind = 0; kind < KINDS; kind++) {
        snprintf(line, sizeof line, "%s %" PRIu64 "%c", names[kind], counted[kind], kind + 1 < KINDS ? ' ' : '\n');
        qemu_plugin_outs(line);
    }
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments)
{
    (void)info, (void)count, (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, told, NULL);
    return 0;
}
