"""A door with everything that the MCP conformance suite asks of a server.

The tools are those of a bench, through the public API. Prompts, resources, sampling, roots and logging, which a bench
does not have, are added to the server of the door here.
"""

from __future__ import annotations

import asyncio
import base64
import json
import warnings
from typing import Any, cast

import mcp_types as mt
from mcp.server.subscriptions import PromptsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from workbench import Agent, ToolContext, models, tool
from workbench.agents.tools import Tool
from workbench.endpoints.mcp_questions import is_modern
from workbench.endpoints.mcp_server import McpService
from workbench.endpoints.service import Reception
from workbench.errors import BadInput

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
).decode()


@tool(read_only=True)
def test_simple_text() -> str:
    """A text."""
    return "This is a simple text response for testing."


@tool(read_only=True)
def test_image_content() -> mt.ImageContent:
    """An image."""
    return mt.ImageContent(data=PNG, mime_type="image/png")


@tool(read_only=True)
def test_audio_content() -> mt.AudioContent:
    """A sound."""
    return mt.AudioContent(data=WAV, mime_type="audio/wav")


def embedded(uri: str, mime_type: str, text: str) -> mt.EmbeddedResource:
    return mt.EmbeddedResource(resource=mt.TextResourceContents(uri=uri, mime_type=mime_type, text=text))


@tool(read_only=True)
def test_embedded_resource() -> mt.EmbeddedResource:
    """A resource."""
    return embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")


@tool(read_only=True)
def test_multiple_content_types() -> list[mt.TextContent | mt.ImageContent | mt.EmbeddedResource]:
    """Several kinds at once."""
    return [
        mt.TextContent(text="Multiple content types test:"),
        mt.ImageContent(data=PNG, mime_type="image/png"),
        embedded("test://mixed-content-resource", "application/json", json.dumps({"test": "data", "value": 123})),
    ]


@tool(read_only=True)
def test_error_handling() -> str:
    """Always an error."""
    raise BadInput("This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(ctx: ToolContext) -> str:
    """Says how far it is."""
    for line in ("0/100", "50/100", "100/100"):
        ctx.progress(line)
        await asyncio.sleep(0.05)
    return "done"


def form(title: str, **properties: Any) -> dict[str, Any]:
    return {"title": title, "type": "object", "properties": properties, "required": list(properties)}


@tool
async def test_elicitation(message: str, ctx: ToolContext) -> str:
    """Asks its caller."""
    answer = await ctx.ask_user(form("who", username={"type": "string"}, email={"type": "string"}), message)
    return f"User response: {json.dumps(answer)}"


@tool
async def test_elicitation_sep1034_defaults(ctx: ToolContext) -> str:
    """Asks with defaults."""
    asked = form(
        "defaults",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    asked["required"] = []
    return f"Elicitation completed: {json.dumps(await ctx.ask_user(asked, 'Please review'))}"


def titled(*values: str) -> list[dict[str, str]]:
    return [{"const": f"value{n}", "title": value} for n, value in enumerate(values, 1)]


@tool
async def test_elicitation_sep1330_enums(ctx: ToolContext) -> str:
    """Asks for choices."""
    options = ["option1", "option2", "option3"]
    asked = form(
        "choices",
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")}},
    )
    asked["required"] = []
    return f"Elicitation completed: {json.dumps(await ctx.ask_user(asked, 'Please choose'))}"


@tool
async def test_input_required_result_elicitation(ctx: ToolContext) -> str:
    """Asks for a name."""
    answer = await ctx.ask_user(form("user_name", name={"type": "string"}), "What is your name?")
    return f"Hello, {answer['name']}!"


@tool
async def test_input_required_result_request_state(ctx: ToolContext) -> str:
    """Asks for a yes."""
    await ctx.ask_user(form("confirm", ok={"type": "boolean"}), "Please confirm")
    return "state-ok"


@tool
async def test_input_required_result_tampered_state(ctx: ToolContext) -> str:
    """Asks for a yes."""
    await ctx.ask_user(form("confirm", ok={"type": "boolean"}), "Please confirm")
    return "never"


@tool
async def test_streaming_elicitation(ctx: ToolContext) -> str:
    """Says something, then asks."""
    ctx.progress("about to ask")
    await ctx.ask_user(form("confirm", ok={"type": "boolean"}), "Please confirm")
    return "asked"


@tool
async def test_input_required_result_multi_round(ctx: ToolContext) -> str:
    """Asks twice."""
    first = await ctx.ask_user(form("step1", name={"type": "string"}), "Step 1: What is your name?")
    second = await ctx.ask_user(form("step2", color={"type": "string"}), "Step 2: What is your favorite color?")
    return f"{first['name']} likes {second['color']}"


def test_header_params(args: dict[str, Any]) -> str:
    return json.dumps(args)


def text(words: str) -> mt.CallToolResult:
    return mt.CallToolResult(content=[mt.TextContent(text=words)])


HEADER_PARAMS = Tool.from_schema(
    test_header_params,
    "test_header_params",
    "Its parameters come in headers too.",
    {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "query": {"type": "string"},
        },
        "required": ["region", "query"],
    },
    read_only=True,
)
SCHEMA_2020 = Tool.from_schema(
    lambda args: json.dumps(args),
    "json_schema_2020_12_tool",
    "A schema of 2020-12.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)

FIXTURES = Agent(
    "fixtures",
    tools=[each for each in globals().values() if isinstance(each, Tool)],
    model=models.scripted("Nothing to say."),
)


class Extra:
    """What a bench does not have, on the server of the door."""

    def __init__(self, service: McpService) -> None:
        self.service = service
        self.call = service.server.get_request_handler("tools/call").handler  # type: ignore[union-attr]

    async def call_tool(self, ctx: Any, params: mt.CallToolRequestParams) -> Any:
        given = params.input_responses or {}
        match params.name:
            case "test_tool_with_logging" | "test_logging_tool":
                for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", MCPDeprecationWarning)
                        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
                    await asyncio.sleep(0.05)
                return text("logged")
            case "test_sampling":
                return text(f"LLM response: {await sampled(ctx, (params.arguments or {})['prompt'])}")
            case "test_missing_capability":
                capabilities = ctx.session.client_capabilities
                if capabilities is None or capabilities.sampling is None:
                    needed = {"requiredCapabilities": {"sampling": {}}}
                    raise MCPError(code=mt.MISSING_REQUIRED_CLIENT_CAPABILITY, message="sampling needed", data=needed)
                return text("sampling is there")
            case "test_input_required_result_sampling":
                return text("answered") if given else needs(capital_question=sampling("What is the capital of France?"))
            case "test_input_required_result_list_roots":
                return text("answered") if given else needs(client_roots=mt.ListRootsRequest())
            case "test_input_required_result_multiple_inputs":
                asked = mt.ElicitRequestFormParams(
                    message="What is your name?", requested_schema=form("user_name", name={"type": "string"})
                )
                return (
                    text("answered")
                    if given
                    else needs(
                        user_name=mt.ElicitRequest(params=asked),
                        greeting=sampling("Generate a greeting"),
                        client_roots=mt.ListRootsRequest(),
                    )
                )
            case "test_input_required_result_capabilities":
                return needs(capital_question=sampling("What is the capital of France?"))
            case "test_trigger_tool_change":
                self.service._announce()
                return text("changed")
            case "test_trigger_prompt_change":
                await self.service._bus.publish(PromptsListChanged())
                return text("changed")
        return await self.call(ctx, params)

    async def list_resources(self, ctx: Any, params: Any) -> mt.ListResourcesResult:
        static = [
            mt.Resource(uri="test://static-text", name="text", mime_type="text/plain"),
            mt.Resource(uri="test://static-binary", name="binary", mime_type="image/png"),
            mt.Resource(uri="test://watched-resource", name="watched", mime_type="text/plain"),
        ]
        return mt.ListResourcesResult(resources=static, ttl_ms=0, cache_scope="private")

    async def list_templates(self, ctx: Any, params: Any) -> mt.ListResourceTemplatesResult:
        template = mt.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
        return mt.ListResourceTemplatesResult(resource_templates=[template], ttl_ms=0, cache_scope="private")

    async def read(self, ctx: Any, params: mt.ReadResourceRequestParams) -> mt.ReadResourceResult:
        uri = str(params.uri)
        contents: mt.TextResourceContents | mt.BlobResourceContents
        if uri == "test://static-text":
            words = "This is the content of the static text resource."
            contents = mt.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
        elif uri == "test://static-binary":
            contents = mt.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
        elif uri == "test://watched-resource":
            contents = mt.TextResourceContents(uri=uri, mime_type="text/plain", text="watched")
        elif uri.startswith("test://template/"):
            id = uri.split("/")[3]
            data = {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}
            contents = mt.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(data))
        else:
            raise MCPError(code=mt.INVALID_PARAMS, message=f"Resource not found: {uri}", data={"uri": uri})
        return mt.ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")

    async def nothing(self, ctx: Any, params: Any) -> mt.EmptyResult:
        return mt.EmptyResult()

    async def list_prompts(self, ctx: Any, params: Any) -> mt.ListPromptsResult:
        arguments = [mt.PromptArgument(name=name, required=True) for name in ("arg1", "arg2")]
        prompts = [
            mt.Prompt(name="test_simple_prompt", description="Plain words."),
            mt.Prompt(name="test_prompt_with_arguments", description="Two arguments.", arguments=arguments),
            mt.Prompt(
                name="test_prompt_with_embedded_resource",
                description="A resource in it.",
                arguments=[mt.PromptArgument(name="resourceUri", required=True)],
            ),
            mt.Prompt(name="test_prompt_with_image", description="An image in it."),
            mt.Prompt(name="test_input_required_result_prompt", description="Asks first."),
        ]
        return mt.ListPromptsResult(prompts=prompts, ttl_ms=0, cache_scope="private")

    async def get_prompt(self, ctx: Any, params: mt.GetPromptRequestParams) -> Any:
        args = params.arguments or {}
        content: list[Any]
        match params.name:
            case "test_simple_prompt":
                content = [mt.TextContent(text="This is a simple prompt for testing.")]
            case "test_prompt_with_arguments":
                words = f"Prompt with arguments: arg1='{args.get('arg1')}', arg2='{args.get('arg2')}'"
                content = [mt.TextContent(text=words)]
            case "test_prompt_with_embedded_resource":
                resource = embedded(args["resourceUri"], "text/plain", "Embedded resource content for testing.")
                content = [resource, mt.TextContent(text="Please process the embedded resource above.")]
            case "test_prompt_with_image":
                content = [
                    mt.ImageContent(data=PNG, mime_type="image/png"),
                    mt.TextContent(text="Please analyze the image above."),
                ]
            case "test_input_required_result_prompt":
                if not params.input_responses:
                    asked = mt.ElicitRequestFormParams(
                        message="What context should the prompt use?",
                        requested_schema=form("context", context={"type": "string"}),
                    )
                    return needs(user_context=mt.ElicitRequest(params=asked))
                content = [mt.TextContent(text="with context")]
            case name:
                raise MCPError(code=mt.INVALID_PARAMS, message=f"Unknown prompt: {name}")
        return mt.GetPromptResult(messages=[mt.PromptMessage(role="user", content=each) for each in content])

    async def complete(self, ctx: Any, params: Any) -> mt.CompleteResult:
        return mt.CompleteResult(completion=mt.Completion(values=["paris", "park"], total=2, has_more=False))


def sampling(words: str) -> mt.CreateMessageRequest:
    message = mt.SamplingMessage(role="user", content=mt.TextContent(text=words))
    return mt.CreateMessageRequest(params=mt.CreateMessageRequestParams(messages=[message], max_tokens=100))


async def sampled(ctx: Any, prompt: str) -> str:
    if is_modern(ctx):
        return "no back channel"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        message = mt.SamplingMessage(role="user", content=mt.TextContent(text=prompt))
        result = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return cast("Any", result.content).text


def needs(**requests: Any) -> mt.InputRequiredResult:
    return mt.InputRequiredResult(input_requests=requests, request_state="asked")


def service(reception: Reception) -> McpService:
    made = McpService(reception)
    extra, server = Extra(made), made.server
    server.add_request_handler("tools/call", mt.CallToolRequestParams, extra.call_tool)
    server.add_request_handler("resources/list", mt.PaginatedRequestParams, extra.list_resources)
    server.add_request_handler("resources/templates/list", mt.PaginatedRequestParams, extra.list_templates)
    server.add_request_handler("resources/read", mt.ReadResourceRequestParams, extra.read)
    server.add_request_handler("resources/subscribe", mt.SubscribeRequestParams, extra.nothing)
    server.add_request_handler("resources/unsubscribe", mt.UnsubscribeRequestParams, extra.nothing)
    server.add_request_handler("prompts/list", mt.PaginatedRequestParams, extra.list_prompts)
    server.add_request_handler("prompts/get", mt.GetPromptRequestParams, extra.get_prompt)
    server.add_request_handler("completion/complete", mt.CompleteRequestParams, extra.complete)
    server.add_request_handler("logging/setLevel", mt.SetLevelRequestParams, extra.nothing)
    return made


def with_bearer(token: str) -> Any:
    """A middleware that adds the bearer, which the suite cannot send."""

    def around(app: Any) -> Any:
        async def bearing(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                headers = [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]
                scope = dict(scope) | {"headers": headers}
            await app(scope, receive, send)

        return bearing

    return around
