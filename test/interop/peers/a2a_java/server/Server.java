package peer;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.a2a.server.PublicAgentCard;
import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.events.EventQueue;
import io.a2a.server.requesthandlers.RequestHandler;
import io.a2a.server.tasks.TaskUpdater;
import io.a2a.server.util.async.Internal;
import io.a2a.spec.*;
import io.a2a.transport.grpc.handler.CallContextFactory;
import io.a2a.transport.grpc.handler.GrpcHandler;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.QuarkusMain;
import io.quarkus.vertx.web.RouteFilter;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Inject;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;

/**
 * The reference server of the official a2a-java, on Quarkus: one agent, over the transport of `peer.transport`, behind the
 * token of `peer.token`. It says on stdout, as JSON lines, where it is, what it was told and which file came. It ends with
 * its stdin.
 */
@QuarkusMain
@ApplicationScoped
public class Server implements QuarkusApplication {
  static final ObjectMapper JSON = new ObjectMapper();
  static final String TRANSPORT = System.getProperty("peer.transport", "JSONRPC");
  static final String TOKEN = System.getProperty("peer.token");
  static int port;
  static int rpcPort;

  public static void main(String[] args) throws Exception {
    try (ServerSocket http = new ServerSocket(0); ServerSocket rpc = new ServerSocket(0)) {
      port = http.getLocalPort();
      rpcPort = rpc.getLocalPort();
    }
    System.setProperty("quarkus.http.host", "127.0.0.1");
    System.setProperty("quarkus.http.port", String.valueOf(port));
    System.setProperty("quarkus.log.console.stderr", "true");
    System.setProperty("quarkus.banner.enabled", "false");
    // It knows the transports of its extensions for Quarkus alone, and gRPC is served by hand.
    System.setProperty("io.a2a.transport.skipValidation", "true");
    new Thread(Server::endWithStdin).start();
    Quarkus.run(Server.class, args);
  }

  static void endWithStdin() {
    try {
      while (System.in.read() >= 0) continue;
    } catch (Exception gone) {
      // It is gone all the same.
    }
    Runtime.getRuntime().halt(0);
  }

  static synchronized void tell(String name, String value) {
    try {
      System.out.println(JSON.writeValueAsString(Map.of(name, value)));
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  @Inject @PublicAgentCard AgentCard card;
  @Inject RequestHandler handler;
  @Inject @Internal Executor executor;

  /** Its extension for gRPC is not in the registry: its handler runs behind the server of grpc-java. */
  @Override
  public int run(String... args) throws Exception {
    GrpcHandler service =
        new GrpcHandler() {
          @Override
          protected RequestHandler getRequestHandler() {
            return handler;
          }

          @Override
          protected AgentCard getAgentCard() {
            return card;
          }

          @Override
          protected CallContextFactory getCallContextFactory() {
            return null;
          }

          @Override
          protected Executor getExecutor() {
            return executor;
          }
        };
    NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", rpcPort))
        .addService(service)
        .intercept(new OnlyWithToken())
        .build()
        .start();
    tell("url", "http://127.0.0.1:" + port);
    Quarkus.waitForExit();
    return 0;
  }

  /** Answers 401 to all but the card without the token. */
  @RouteFilter(100)
  void check(RoutingContext call) {
    boolean isCard = call.request().path().startsWith("/.well-known/");
    if (isCard || isKnown(call.request().getHeader("Authorization"))) call.next();
    else call.response().setStatusCode(401).end("unknown caller");
  }

  static boolean isKnown(String authorization) {
    return TOKEN == null || ("Bearer " + TOKEN).equals(authorization);
  }

  /** The same over gRPC. */
  static class OnlyWithToken implements ServerInterceptor {
    static final Metadata.Key<String> AUTHORIZATION =
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      if (isKnown(headers.get(AUTHORIZATION))) return next.startCall(call, headers);
      call.close(Status.UNAUTHENTICATED.withDescription("unknown caller"), new Metadata());
      return new ServerCall.Listener<>() {};
    }
  }

  @Produces
  @PublicAgentCard
  static AgentCard newCard() {
    String url = TRANSPORT.equals("GRPC") ? "127.0.0.1:" + rpcPort : "http://127.0.0.1:" + port;
    List<String> media = List.of("text/plain", "image/png");
    var builder =
        new AgentCard.Builder()
            .name("Orders")
            .description("Follows orders.")
            .version("1")
            .protocolVersion("0.3.0")
            .url(url)
            .preferredTransport(TRANSPORT)
            .additionalInterfaces(List.of(new AgentInterface(TRANSPORT, url)))
            .capabilities(new AgentCapabilities.Builder().streaming(true).build())
            .defaultInputModes(media)
            .defaultOutputModes(media)
            .skills(
                List.of(
                    new AgentSkill.Builder()
                        .id("orders")
                        .name("Orders")
                        .description("Follows orders.")
                        .tags(List.of("test"))
                        .build()));
    if (TOKEN != null) {
      builder
          .securitySchemes(Map.of("bearer", new HTTPAuthSecurityScheme.Builder().scheme("bearer").build()))
          .security(List.of(Map.of("bearer", List.of())));
    }
    return builder.build();
  }

  @Produces
  static AgentExecutor newOrders() {
    return new Orders();
  }

  /**
   * The server sends an event after those that follow it when it comes while the one before is being written. So there is
   * a pause after each, a long one in the first task, whose writes are slow.
   */
  static class Paced extends TaskUpdater {
    static volatile long millis = 300;

    Paced(RequestContext context, EventQueue queue) {
      super(context, queue);
    }

    @Override
    public void updateStatus(TaskState state, Message message, boolean isFinal) {
      super.updateStatus(state, message, isFinal);
      if (isFinal) millis = 30;
      else pause();
    }

    @Override
    public void addArtifact(
        List<Part<?>> parts, String id, String name, Map<String, Object> metadata, Boolean append, Boolean lastChunk) {
      super.addArtifact(parts, id, name, metadata, append, lastChunk);
      pause();
    }

    static void pause() {
      try {
        Thread.sleep(millis);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Does what the first word of a message says. */
  static class Orders implements AgentExecutor {
    static final Map<String, CountDownLatch> CANCELED = new ConcurrentHashMap<>();

    static Message says(TaskUpdater task, String text) {
      return task.newAgentMessage(List.of(new TextPart(text)), null);
    }

    static void answer(TaskUpdater task, String text, boolean append) {
      task.addArtifact(List.of(new TextPart(text)), "answer", null, null, append, null);
    }

    @Override
    public void execute(RequestContext context, EventQueue queue) {
      TaskUpdater task = new Paced(context, queue);
      String told = context.getUserInput("\n").strip();
      if (context.getTask() == null) task.submit();
      CountDownLatch canceled = CANCELED.computeIfAbsent(task.getTaskId(), id -> new CountDownLatch(1));
      tell("seen", told);
      task.startWork();
      String[] words = told.split("\\s", 2);
      String rest = words.length > 1 ? words[1] : "";
      switch (words[0]) {
        case "ask" -> task.requiresInput(says(task, "what shall I say?"), true);
        case "wait" -> {
          try {
            canceled.await();
          } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
          }
        }
        case "fail" -> task.fail(says(task, "the disk is full"));
        case "refuse" -> task.reject(says(task, "not my work"));
        case "chunks" -> {
          for (int at = 0; at < Integer.parseInt(rest); at += 1) answer(task, "<" + at + ">", at > 0);
          task.complete();
        }
        case "echo" -> {
          List<Part<?>> files = new ArrayList<>();
          for (Part<?> part : context.getMessage().getParts()) {
            if (!(part instanceof FilePart one) || !(one.getFile() instanceof FileWithBytes file)) continue;
            files.add(part);
            tell("file", file.bytes());
          }
          task.addArtifact(files);
          task.complete();
        }
        default -> {
          answer(task, rest, false);
          task.complete();
        }
      }
    }

    @Override
    public void cancel(RequestContext context, EventQueue queue) {
      tell("seen", "canceled");
      new TaskUpdater(context, queue).cancel();
      CANCELED.computeIfAbsent(context.getTaskId(), id -> new CountDownLatch(1)).countDown();
    }
  }
}
